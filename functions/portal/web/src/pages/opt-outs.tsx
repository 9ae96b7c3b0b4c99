// Who gets no templates, and the words by which customers say so.

import { useState } from 'preact/hooks';

import { answer, client, value, workspace } from '../api';
import type { Schemas } from '../api';
import { useAction, useLoad, useRows } from '../load';
import { Confirm, Dialog } from '../parts/dialog';
import { Choice, Form, LinesField, TextField, linesOf } from '../parts/field';
import { Page } from '../parts/page';
import { ProblemBox } from '../parts/problem';
import { LookAgain, Stale } from '../parts/stale';
import { Bones, Facts, Table } from '../parts/table';
import { Maybe, Seen } from '../parts/text';
import { Time } from '../parts/time';
import { address } from '../router';
import { may } from '../session';
import { t } from '../words';

const OPT_OUTS = '/service/api/v1/workspaces/{workspaceId}/opt-outs';
const OPT_OUT = '/service/api/v1/workspaces/{workspaceId}/opt-outs/{optOutId}';
const KEYWORDS = '/service/api/v1/workspaces/{workspaceId}/settings/opt-out-keywords';

type OptOut = Schemas['OptOut'];
const SCOPES: Schemas['OptOutScope'][] = ['ALL', 'MARKETING'];

/** Neither a number nor a user id is known once the person was erased. */
const whoOf = ({ cellphone, userId }: OptOut) => cellphone ?? userId ?? t.optOuts.erased;

export function OptOuts() {
  const list = useRows<OptOut>('opt-outs', async (cursor) => {
    const { optOuts, cursor: next } = await value(client.GET(OPT_OUTS, { params: { path: workspace(), query: { cursor } } }));
    return { rows: optOuts, cursor: next };
  });
  const [open, setOpen] = useState<OptOut | 'add' | null>(null);
  const close = () => setOpen(null);
  const writes = may('contacts:write');
  const remove = async ({ id }: OptOut) => {
    await value(client.DELETE(OPT_OUT, { params: { path: { ...workspace(), optOutId: id } } }));
    list.reload();
  };
  return (
    <Page
      title={t.optOuts.title}
      name={t.optOuts.title}
      intro={t.optOuts.intro}
      actions={
        writes && (
          <button type="button" class="main" onClick={() => setOpen('add')}>
            {t.optOuts.add}
          </button>
        )
      }
    >
      <Table
        label={t.optOuts.title}
        list={list}
        id={({ id }) => id}
        empty={<p>{t.optOuts.empty}</p>}
        columns={[
          {
            title: t.optOuts.who,
            width: 4,
            cell: (one) =>
              one.contactId && may('contacts:read') ? (
                <a href={address(workspace().workspaceId, 'contacts', { id: one.contactId })}>
                  <Seen text={whoOf(one)} />
                </a>
              ) : (
                <Seen text={whoOf(one)} />
              ),
          },
          {
            title: t.optOuts.what,
            width: 7,
            cell: ({ choices }) => (
              <ul class="plain">
                {choices.map(({ scope, providerChannelId, source, since }) => (
                  <li key={`${scope} ${providerChannelId}`}>
                    {t.optOuts.scopes[scope]}
                    {providerChannelId && ` (${t.lines.one} ${providerChannelId})`}{' '}
                    <span class="soft">
                      {t.optOuts.sources[source]}, <Time at={since} />
                    </span>
                  </li>
                ))}
              </ul>
            ),
          },
          {
            title: '',
            width: 2,
            // What the customer set in WhatsApp for one line stays.
            cell: (one) =>
              writes &&
              one.choices.some(({ providerChannelId }) => providerChannelId === null) && (
                <button type="button" onClick={() => setOpen(one)} aria-label={`${t.optOuts.remove}: ${whoOf(one)}`}>
                  {t.optOuts.remove}
                </button>
              ),
          },
        ]}
      />
      {open === 'add' && <Add close={close} added={list.reload} />}
      {open !== null && open !== 'add' && (
        <Confirm title={`${t.optOuts.remove}: ${whoOf(open)}`} effect={<p>{t.optOuts.removeEffect}</p>} act={t.optOuts.remove} dangerous run={() => remove(open)} close={close} />
      )}
    </Page>
  );
}

function Add({ close, added }: { close: () => void; added: () => void }) {
  const [cellphone, setCellphone] = useState('');
  const [scope, setScope] = useState('ALL');
  const action = useAction();
  const add = () =>
    action.run(async () => {
      await value(client.POST(OPT_OUTS, { params: { path: workspace() }, body: { cellphone, scope: scope as (typeof SCOPES)[number] } }));
      added();
      close();
    });
  return (
    <Dialog title={t.optOuts.add} close={close}>
      <p>{t.optOuts.addEffect}</p>
      <Form submit={add} act={t.optOuts.add} busy={action.busy} cancel={close}>
        {action.problem && <ProblemBox problem={action.problem} fields={['cellphone', 'scope']} />}
        <TextField label={t.contacts.cellphone} name="cellphone" hint={t.users.cellphoneHint} value={cellphone} set={setCellphone} problem={action.problem} required />
        <Choice label={t.optOuts.what} name="scope" value={scope} set={setScope} problem={action.problem} choices={SCOPES.map((one) => [one, t.optOuts.scopes[one]])} />
      </Form>
    </Dialog>
  );
}

const KINDS = ['stop', 'stopMarketing', 'start'] as const;
type Draft = Record<(typeof KINDS)[number], string>;
interface Read {
  value: Schemas['OptOutKeywords'];
  etag: string | null;
  status: number;
}

const draftOf = ({ stop, stopMarketing, start }: Read['value']): Draft => ({ stop: stop.join('\n'), stopMarketing: stopMarketing.join('\n'), start: start.join('\n') });

export function Keywords() {
  const found = useLoad('keywords', (): Promise<Read> => answer(client.GET(KEYWORDS, { params: { path: workspace() } })));
  const [open, setOpen] = useState<'edit' | 'reset' | null>(null);
  const close = () => setOpen(null);
  const now = found.value?.value;
  const reset = async () => {
    await value(client.DELETE(KEYWORDS, { params: { path: workspace(), header: found.value?.etag ? { 'If-Match': found.value.etag } : {} } }));
    found.reload();
  };
  return (
    <Page
      title={t.keywords.title}
      name={t.keywords.title}
      intro={t.keywords.intro}
      actions={
        now &&
        may('settings:write') && (
          <>
            <button type="button" onClick={() => setOpen('edit')}>
              {t.webhooks.edit}
            </button>
            {!now.isDefault && (
              <button type="button" onClick={() => setOpen('reset')}>
                {t.keywords.reset}
              </button>
            )}
          </>
        )
      }
    >
      {found.problem && <ProblemBox problem={found.problem} again={found.reload} />}
      {!now && !found.problem && <Bones lines={4} />}
      {now && <Facts facts={[...KINDS.map((kind): [string, preact.ComponentChildren] => [t.keywords[kind], <Maybe text={now[kind].join(', ')} />]), [t.keywords.isDefault, now.isDefault ? t.parts.yes : t.parts.no]]} />}
      {open === 'edit' && found.value && <Edit read={found.value} close={close} reload={found.reload} saved={found.set} />}
      {open === 'reset' && (
        <Confirm title={t.keywords.reset} effect={<p>{t.keywords.resetEffect}</p>} act={t.keywords.reset} run={reset} close={close} stale={() => <LookAgain close={close} reload={found.reload} />} />
      )}
    </Page>
  );
}

function Edit({ read, close, reload, saved }: { read: Read; close: () => void; reload: () => void; saved: (read: Read) => void }) {
  const [draft, setDraft] = useState(() => draftOf(read.value));
  const action = useAction();
  const save = () =>
    action.run(async () => {
      const body = { stop: linesOf(draft.stop), stopMarketing: linesOf(draft.stopMarketing), start: linesOf(draft.start) };
      saved(await answer(client.PUT(KEYWORDS, { params: { path: workspace(), header: read.etag ? { 'If-Match': read.etag } : {} }, body })));
      close();
    });
  const shown = (some: Draft) => KINDS.map((kind) => linesOf(some[kind]).join(', ')).join(' · ');
  return (
    <Dialog title={t.keywords.title} close={close}>
      <Form submit={save} act={t.webhooks.save} busy={action.busy} cancel={close}>
        <Stale action={action} theirs={shown(draftOf(read.value))} mine={shown(draft)} load={reload} fields={[...KINDS]} />
        {KINDS.map((kind) => (
          <LinesField key={kind} label={t.keywords[kind]} name={kind} value={draft[kind]} set={(text) => setDraft({ ...draft, [kind]: text })} problem={action.problem} />
        ))}
      </Form>
    </Dialog>
  );
}
