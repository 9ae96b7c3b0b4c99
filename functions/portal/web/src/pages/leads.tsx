// The visitors of landing pages who asked for contact, and what became of them.

import { useRef, useState } from 'preact/hooks';

import { answer, client, value, workspace } from '../api';
import type { Body } from '../api';
import { useAction, useLoad, useRows, useWatch } from '../load';
import { csv, save } from '../parts/csv';
import { Confirm, Dialog } from '../parts/dialog';
import { Choice, Form, Moment } from '../parts/field';
import { FilterBar, useFilters } from '../parts/filters';
import type { Filters } from '../parts/filters';
import { Badge, Page } from '../parts/page';
import { ProblemBox } from '../parts/problem';
import { Bones, Facts, Table } from '../parts/table';
import { Long, Seen } from '../parts/text';
import { Time } from '../parts/time';
import { address } from '../router';
import { may } from '../session';
import { t } from '../words';

const LEADS = '/service/api/v1/workspaces/{workspaceId}/leads';
const LEAD = '/service/api/v1/workspaces/{workspaceId}/leads/{requestId}';
const RETRIES = '/service/api/v1/workspaces/{workspaceId}/lead-retries';

const page = (query: object) => value(client.GET(LEADS, { params: { path: workspace(), query } }));
type Lead = Awaited<ReturnType<typeof page>>['leads'][number];

const STATES = ['QUEUED', 'SENDING', 'SENT', 'FAILED', 'UNKNOWN', 'SUPPRESSED'] as const;
const stateIn = (state: string) => t.leads.states[state as (typeof STATES)[number]] ?? state;
const to = (what: string, id: string) => address(workspace().workspaceId, what, { id });
const errorIn = ({ error }: Lead) => error && ((t.leads.errors as Record<string, string>)[error] ?? null);
const retries = ({ state }: Lead) => may('leads:write') && (state === 'FAILED' || state === 'UNKNOWN');

export function Leads() {
  const filters = useFilters(['state', 'since', 'until']);
  const list = useRows<Lead>(filters.key, async (cursor) => {
    const { leads, cursor: next } = await page({ ...filters.all, cursor });
    return { rows: leads, cursor: next };
  });
  const [asking, setAsking] = useState<'all' | Lead | null>(null);
  const close = () => setAsking(null);
  return (
    <Page
      title={t.leads.title}
      name={t.leads.title}
      intro={t.leads.intro}
      actions={
        <>
          {may('leads:write') && (
            <button type="button" onClick={() => setAsking('all')}>
              {t.leads.retryFailed} …
            </button>
          )}
          <button type="button" disabled={!list.rows?.length} onClick={() => save('leads.csv', asCsv(list.rows ?? []))}>
            {t.leads.csv}
          </button>
        </>
      }
    >
      <FilterBar filters={filters}>
        <Choice
          label={t.keys.state}
          name="state"
          value={filters.get('state')}
          set={(value) => filters.set('state', value)}
          choices={[['', t.parts.all], ...STATES.map((one): [string, string] => [one, stateIn(one)])]}
        />
        <Moment label={t.parts.since} name="since" value={filters.get('since')} set={(value) => filters.set('since', value)} />
        <Moment label={t.parts.until} name="until" value={filters.get('until')} set={(value) => filters.set('until', value)} />
      </FilterBar>
      <Table
        label={t.leads.title}
        list={list}
        id={({ id }) => id}
        empty={<p>{Object.keys(filters.all).length ? t.parts.noMatch : t.leads.empty}</p>}
        columns={[
          {
            title: t.leads.at,
            width: 3,
            cell: ({ id, createdAt }) => (
              <a href={to('leads', id)}>
                <Time at={createdAt} />
              </a>
            ),
          },
          { title: t.keys.state, width: 2, cell: ({ state }) => <Badge state={state} words={stateIn(state)} /> },
          { title: t.leads.visitor, width: 3, cell: ({ cellphone, name }) => <Visitor cellphone={cellphone} name={name} /> },
          { title: t.leads.error, width: 4, cell: (lead) => <Why lead={lead} /> },
          { title: t.leads.campaign, width: 2, cell: ({ utm }) => (utm['utm_campaign'] ? <Seen text={utm['utm_campaign']} /> : <span class="soft">–</span>) },
          {
            title: '',
            width: 2,
            cell: (lead) =>
              retries(lead) && (
                <button type="button" onClick={() => setAsking(lead)} aria-label={`${t.leads.retry}: ${lead.cellphone}`}>
                  {t.leads.retry}
                </button>
              ),
          },
        ]}
      />
      {asking === 'all' && <RetryFailed filters={filters} close={close} done={list.reload} />}
      {asking && asking !== 'all' && <Retry lead={asking} tag={null} close={close} done={(next) => list.change((rows) => rows.map((row) => (row.id === next.id ? next : row)))} />}
    </Page>
  );
}

function Visitor({ cellphone, name }: { cellphone: string; name: string | null }) {
  return (
    <>
      {cellphone}{' '}
      {name && (
        <span class="soft">
          <Seen text={name} />
        </span>
      )}
    </>
  );
}

/** Why a lead has no message. The words are those of this page, or the service's. */
function Why({ lead }: { lead: Lead }) {
  if (!lead.error) return <span class="soft">–</span>;
  return (
    <>
      <code>{lead.error}</code> {errorIn(lead) ?? lead.errorInWords}
    </>
  );
}

/** Asks before a retry: a visitor gets a message. */
function Retry({ lead, tag, close, done }: { lead: Lead; tag: string | null; close: () => void; done: (lead: Lead) => void }) {
  const twice = lead.state === 'UNKNOWN';
  const run = async () => {
    const headers = tag ? { 'If-Match': tag } : {};
    const params = { path: { ...workspace(), requestId: lead.id }, header: headers };
    done(await value(client.POST(`${LEAD}/retry`, { params, body: { maySendTwice: twice } })));
  };
  return (
    <Confirm
      title={t.leads.retryTitle(lead.cellphone)}
      effect={<p>{twice ? t.leads.twiceEffect : t.leads.retryEffect}</p>}
      act={twice ? t.leads.twice : t.leads.retry}
      dangerous={twice}
      run={run}
      close={close}
    />
  );
}

/** Retries the leads of a time, a page after the other, until none is left or the reader stops. */
function RetryFailed({ filters, close, done }: { filters: Filters; close: () => void; done: () => void }) {
  const [since, setSince] = useState(filters.get('since'));
  const [until, setUntil] = useState(filters.get('until'));
  const [twice, setTwice] = useState(false);
  const [counts, setCounts] = useState<{ retried: number; refused: number; over: boolean } | null>(null);
  const stopped = useRef(false);
  const action = useAction();
  const run = () =>
    action.run(async () => {
      let [retried, refused, cursor] = [0, 0, null as string | null];
      stopped.current = false;
      setCounts({ retried, refused, over: false });
      do {
        const body: Body<typeof RETRIES, 'post'> = {
          states: twice ? ['FAILED', 'UNKNOWN'] : ['FAILED'],
          maySendTwice: twice,
          limit: 50,
          ...(since && { since }),
          ...(until && { until }),
          ...(cursor && { cursor }),
        };
        const page = await value(client.POST(RETRIES, { params: { path: workspace() }, body }));
        retried += page.retried.length;
        refused += page.refused.length;
        cursor = page.cursor;
        setCounts({ retried, refused, over: cursor === null });
      } while (cursor !== null && !stopped.current);
    });
  const end = () => {
    stopped.current = true;
    if (counts) done();
    close();
  };
  return (
    <Dialog title={t.leads.retryFailed} close={end}>
      <p>{t.leads.failedEffect}</p>
      {counts && (
        <p role="status" class="notice">
          {t.leads.progress(counts.retried, counts.refused)} {counts.over && t.leads.over}
        </p>
      )}
      {action.problem && <ProblemBox problem={action.problem} fields={['since', 'until']} />}
      {counts?.over ? (
        <div class="buttons">
          <button type="button" class="main" onClick={end}>
            {t.parts.done}
          </button>
        </div>
      ) : (
        <Form submit={run} act={t.leads.retry} busy={action.busy} cancel={end}>
          <Moment label={t.parts.since} name="since" value={since} set={setSince} problem={action.problem} />
          <Moment label={t.parts.until} name="until" value={until} set={setUntil} problem={action.problem} />
          <label class="check">
            <input type="checkbox" checked={twice} onChange={(event) => setTwice(event.currentTarget.checked)} /> {t.leads.alsoUnknown}
          </label>
        </Form>
      )}
    </Dialog>
  );
}

const CAMPAIGN = ['utm_source', 'utm_medium', 'utm_campaign', 'utm_term', 'utm_content'];

/** The columns are those of the export of the command line, as far as the API shows them. */
function asCsv(leads: Lead[]): string {
  const header = ['id', 'createdAt', 'state', 'error', 'name', 'cellphone', 'brandId', 'landingUri', ...CAMPAIGN, 'utm', 'consentStatus', 'consentCapturedAt', 'consentReceivedAt', 'consentText', 'contactId', 'conversationId'];
  const others = (utm: Lead['utm']) =>
    Object.entries(utm)
      .filter(([name]) => !CAMPAIGN.includes(name))
      .map(([name, of]) => `${name}=${of}`)
      .join('; ');
  return csv(
    header,
    leads.map((lead) => [
      ...[lead.id, lead.createdAt, lead.state, lead.error, lead.name, lead.cellphone, lead.brandId, lead.landingUri],
      ...CAMPAIGN.map((name) => lead.utm[name] ?? null),
      ...[others(lead.utm), lead.consent.status, lead.consent.capturedAt, lead.consent.receivedAt, lead.consent.text, lead.contactId, lead.conversationId],
    ]),
  );
}

export function OneLead({ id }: { id: string }) {
  const found = useLoad(id, () => answer(client.GET(LEAD, { params: { path: { ...workspace(), requestId: id } } })));
  const [asking, setAsking] = useState(false);
  const lead = found.value?.value;
  useWatch(lead?.state === 'QUEUED' || lead?.state === 'SENDING', found.reload);
  return (
    <Page
      title={lead ? lead.cellphone : t.leads.one}
      name={t.leads.one}
      actions={
        lead &&
        retries(lead) && (
          <button type="button" class="main" onClick={() => setAsking(true)}>
            {t.leads.retry}
          </button>
        )
      }
    >
      {found.problem && <ProblemBox problem={found.problem} again={found.reload} />}
      {!lead && !found.problem && <Bones lines={12} />}
      {lead && <About lead={lead} />}
      {lead && asking && <Retry lead={lead} tag={found.value?.etag ?? null} close={() => setAsking(false)} done={found.reload} />}
    </Page>
  );
}

function About({ lead }: { lead: Lead }) {
  const none = <span class="soft">–</span>;
  const linked = (what: string, scope: string, id: string | null) => (id === null ? none : may(scope) ? <a href={to(what, id)}>{id}</a> : <code>{id}</code>);
  const { consent } = lead;
  return (
    <>
      <Facts
        facts={[
          [t.keys.state, <Badge state={lead.state} words={stateIn(lead.state)} />],
          [t.leads.error, <Why lead={lead} />],
          [t.leads.detail, lead.errorDetail === null ? none : <Seen text={lead.errorDetail} />],
          [t.contacts.name, lead.name === null ? none : <Seen text={lead.name} />],
          [t.contacts.cellphone, lead.cellphone],
          [t.leads.brand, <code>{lead.brandId}</code>],
          [t.contacts.one, linked('contacts', 'contacts:read', lead.contactId)],
          [t.conversations.one, linked('conversations', 'conversations:read', lead.conversationId)],
          [t.leads.message, lead.messageId === null ? none : <code>{lead.messageId}</code>],
          [t.parts.created, <Time at={lead.createdAt} />],
          [t.leads.changed, <Time at={lead.updatedAt} />],
          [t.parts.id, <code>{lead.id}</code>],
        ]}
      />
      <h2>{t.leads.campaign}</h2>
      <Facts
        facts={[
          [t.leads.page, <Seen text={lead.landingUri} />],
          ...Object.entries(lead.utm).map(([name, of]): [string, preact.ComponentChildren] => [name, <Seen text={of} />]),
        ]}
      />
      <h2>{t.leads.consent}</h2>
      <Facts
        facts={[
          [t.leads.given, <Badge state={consent.status === 'GRANTED' ? 'DELIVERED' : 'FAILED'} words={t.leads.consents[consent.status]} />],
          [t.leads.captured, <Time at={consent.capturedAt} />],
          [t.leads.received, <Time at={consent.receivedAt} />],
        ]}
      />
      {consent.text && <Long text={consent.text} label={t.leads.consent} />}
    </>
  );
}
