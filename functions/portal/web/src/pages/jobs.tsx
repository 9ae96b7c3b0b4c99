// What was asked of an endpoint's deliveries: replays, recoveries and retries.

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

import { client, value, workspace } from '../api';
import type { Body } from '../api';
import { useAction, useLoad, useWatch } from '../load';
import { Dialog } from '../parts/dialog';
import { Form, Moment } from '../parts/field';
import { Badge } from '../parts/page';
import { ProblemBox } from '../parts/problem';
import { Bones, Facts } from '../parts/table';
import { Time } from '../parts/time';
import { may } from '../session';
import { t } from '../words';

const JOBS = '/service/api/v1/workspaces/{workspaceId}/webhook-endpoints/{endpointId}/jobs';

/** The jobs, and below them the children, which wait for the jobs: what stands on the page does not move. */
export function Jobs({ endpointId, children }: { endpointId: string; children: ComponentChildren }) {
  const path = { ...workspace(), endpointId };
  const found = useLoad(endpointId, async () => (await value(client.GET(JOBS, { params: { path } }))).jobs);
  const [asking, setAsking] = useState<'REPLAY' | 'RECOVER' | null>(null);
  const cancel = useAction();
  const jobs = found.value;
  useWatch(jobs?.some(({ state }) => state === 'ACTIVE') ?? false, found.reload);
  const stop = (jobId: string) =>
    cancel.run(async () => {
      await value(client.POST(`${JOBS}/{jobId}/cancel`, { params: { path: { ...path, jobId } } }));
      found.reload();
    });
  return (
    <>
      <section>
        <div class="head sub">
          <h2>{t.jobs.title}</h2>
          {may('deliveries:write') && (
            <span class="buttons">
              <button type="button" onClick={() => setAsking('REPLAY')}>
                {t.jobs.REPLAY} …
              </button>
              <button type="button" onClick={() => setAsking('RECOVER')}>
                {t.jobs.RECOVER} …
              </button>
            </span>
          )}
        </div>
        {found.problem && <ProblemBox problem={found.problem} again={found.reload} />}
        {cancel.problem && <ProblemBox problem={cancel.problem} />}
        {!jobs && !found.problem && <Bones lines={1} />}
        {jobs?.length === 0 && <p class="soft">{t.jobs.empty}</p>}
        {jobs && jobs.length > 0 && (
          <Facts
            facts={jobs.map((job) => [
              (t.jobs as unknown as Record<string, string>)[job.what] ?? job.what,
              <div class="buttons">
                <Badge state={job.state === 'ACTIVE' ? 'UNKNOWN' : job.state} words={t.jobs.states[job.state as keyof typeof t.jobs.states] ?? job.state} />
                <span>{t.jobs.progress(job.attempted, job.delivered, job.passedOver)}</span>
                <span class="soft">
                  <Time at={job.since ?? job.askedAt} />
                  {job.until && (
                    <>
                      {' – '}
                      <Time at={job.until} />
                    </>
                  )}
                </span>
                {job.state === 'ACTIVE' && may('deliveries:write') && (
                  <button type="button" disabled={cancel.busy} onClick={() => stop(job.id)}>
                    {t.jobs.cancel}
                  </button>
                )}
              </div>,
            ])}
          />
        )}
        {asking && (
          <Ask
            endpointId={endpointId}
            what={asking}
            close={() => setAsking(null)}
            asked={() => {
              setAsking(null);
              found.reload();
            }}
          />
        )}
      </section>
      {(jobs || found.problem) && children}
    </>
  );
}

function Ask({ endpointId, what, close, asked }: { endpointId: string; what: 'REPLAY' | 'RECOVER'; close: () => void; asked: () => void }) {
  const [since, setSince] = useState(() => new Date(Date.now() - 3_600_000).toISOString());
  const [until, setUntil] = useState('');
  const action = useAction();
  const ask = () =>
    action.run(async () => {
      const body: Body<typeof JOBS, 'post'> = { what, since, ...(what === 'REPLAY' && until && { until }) };
      await value(client.POST(JOBS, { params: { path: { ...workspace(), endpointId } }, body }));
      asked();
    });
  return (
    <Dialog title={t.jobs[what]} close={close}>
      <p>{t.jobs.effects[what]}</p>
      <Form submit={ask} act={t.jobs[what]} busy={action.busy} cancel={close}>
        {action.problem && <ProblemBox problem={action.problem} fields={['since', 'until']} />}
        <Moment label={t.parts.since} name="since" hint={t.jobs.sinceHint} value={since} set={setSince} problem={action.problem} />
        {what === 'REPLAY' && <Moment label={t.parts.until} name="until" hint={t.jobs.untilHint} value={until} set={setUntil} problem={action.problem} />}
      </Form>
    </Dialog>
  );
}
