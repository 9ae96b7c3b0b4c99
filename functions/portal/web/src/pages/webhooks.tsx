import { useState } from 'preact/hooks';

import { answer, client, value, workspace } from '../api';
import type { Body, Schemas } from '../api';
import { useAction, useLoad, useRows, useWatch } from '../load';
import { Secret } from '../parts/copy';
import { Confirm, Dialog } from '../parts/dialog';
import { Checks, Choice, Form, TextField } from '../parts/field';
import { Badge, Page } from '../parts/page';
import { ProblemBox } from '../parts/problem';
import { LookAgain, Stale } from '../parts/stale';
import { Bones, Facts, Table } from '../parts/table';
import { Seen } from '../parts/text';
import { Time } from '../parts/time';
import { address, go } from '../router';
import { may } from '../session';
import { t } from '../words';
import { DeliveryLog, Tested } from './deliveries';
import { Jobs } from './jobs';

const ENDPOINTS = '/service/api/v1/workspaces/{workspaceId}/webhook-endpoints';
const ENDPOINT = '/service/api/v1/workspaces/{workspaceId}/webhook-endpoints/{endpointId}';

export const allEndpoints = async () => (await value(client.GET(ENDPOINTS, { params: { path: workspace() } }))).webhookEndpoints;
const one = (endpointId: string) => answer(client.GET(ENDPOINT, { params: { path: { ...workspace(), endpointId } } }));

export type Endpoint = Awaited<ReturnType<typeof allEndpoints>>[number];
type Details = Awaited<ReturnType<typeof one>>['value'];
type Read = Awaited<ReturnType<typeof one>>;

type EventType = Exclude<Schemas['WebhookEventFilter'][number], '*' | 'webhook.test'>;

/** The types of events to choose from. The build fails if the API has another one. */
export const EVENT_TYPES = Object.keys({
  'contact.created': true,
  'contact.updated': true,
  'contact.merged': true,
  'contact.erased': true,
  'contact.opted_out': true,
  'contact.opted_in': true,
  'contact.conflict': true,
  'conversation.created': true,
  'conversation.updated': true,
  'conversation_summary.created': true,
  'message.created': true,
  'message.updated': true,
  'lead.accepted': true,
  'lead.sent': true,
  'lead.failed': true,
  'template.updated': true,
  'line.updated': true,
  'account.updated': true,
  'webhook.endpoint_disabled': true,
  'webhook.endpoint_failing': true,
  'event.redacted': true,
} satisfies Record<EventType, true>);

const takesAll = (events: readonly string[]) => events.includes('*') || events.length === 0;

export const nameOf = ({ description, url }: { description: string | null; url: string }) => description || url.replace(/^https:\/\//, '');

/** What is wrong with an endpoint, most important first. */
export function faultOf(endpoint: Endpoint | Details): 'DISABLED' | 'FAILING' | 'OPEN' | 'SLOW' | null {
  if (endpoint.state === 'DISABLED') return 'DISABLED';
  if (!('health' in endpoint)) return null;
  const soon = (at: string | null) => at !== null && new Date(at) > new Date();
  if (endpoint.health.failingSince) return 'FAILING';
  if (soon(endpoint.health.openUntil)) return 'OPEN';
  return soon(endpoint.health.slowUntil) ? 'SLOW' : null;
}

export function State({ endpoint }: { endpoint: Endpoint | Details }) {
  const fault = faultOf(endpoint);
  return (
    <span class="badges">
      <Badge state={endpoint.state} words={t.webhooks.states[endpoint.state as 'ENABLED' | 'DISABLED'] ?? endpoint.state} />
      {fault && fault !== 'DISABLED' && <Badge state={fault === 'FAILING' ? 'FAILED' : 'UNKNOWN'} words={t.webhooks.faults[fault]} />}
    </span>
  );
}

export function Webhooks() {
  const list = useRows<Endpoint>('endpoints', async () => ({ rows: await allEndpoints(), cursor: null }));
  const [creating, setCreating] = useState(false);
  const [made, setMade] = useState<{ secret: string | null; id: string } | null>(null);
  return (
    <Page
      title={t.webhooks.title}
      name={t.webhooks.title}
      intro={t.webhooks.intro}
      actions={
        may('webhooks:write') && (
          <button type="button" class="main" onClick={() => setCreating(true)}>
            {t.webhooks.create}
          </button>
        )
      }
    >
      <Table
        label={t.webhooks.title}
        list={list}
        id={({ id }) => id}
        empty={<p>{t.webhooks.empty}</p>}
        columns={[
          {
            title: t.webhooks.endpoint,
            width: 6,
            cell: (endpoint) => (
              <>
                <a href={address(workspace().workspaceId, 'webhooks', { id: endpoint.id })}>
                  <Seen text={nameOf(endpoint)} />
                </a>
                {endpoint.description && (
                  <div class="soft small">
                    <Seen text={endpoint.url} />
                  </div>
                )}
              </>
            ),
          },
          { title: t.keys.state, width: 2, cell: (endpoint) => <State endpoint={endpoint} /> },
          { title: t.webhooks.events, width: 3, cell: ({ events }) => <Events events={events} /> },
          { title: t.parts.created, width: 3, cell: ({ createdAt }) => <Time at={createdAt} /> },
        ]}
      />
      {creating && (
        <Create
          close={() => setCreating(false)}
          created={(id, secret) => {
            setCreating(false);
            setMade({ id, secret });
          }}
        />
      )}
      {made && (
        <Secret
          title={t.webhooks.created}
          name={t.webhooks.secret}
          secret={made.secret}
          note={t.webhooks.secretNote}
          close={() => go(address(workspace().workspaceId, 'webhooks', { id: made.id }))}
        />
      )}
    </Page>
  );
}

function Events({ events }: { events: readonly string[] }) {
  if (takesAll(events)) return <>{t.webhooks.allEvents}</>;
  if (events.length <= 2) return <code>{events.join(' ')}</code>;
  return (
    <details>
      <summary>{t.webhooks.eventsOf(events.length)}</summary>
      <code>{events.join(' ')}</code>
    </details>
  );
}

interface Draft {
  url: string;
  receiverKey: string;
  description: string;
  every: boolean;
  events: string[];
  maxConcurrency: string;
  maxPerSecond: string;
}

const FIELDS = ['url', 'receiverKey', 'description', 'events', 'maxConcurrency', 'maxPerSecond'];

function draftOf(endpoint?: Details): Draft {
  const events = [...(endpoint?.events ?? [])];
  return {
    url: endpoint?.url ?? '',
    receiverKey: '',
    description: endpoint?.description ?? '',
    every: takesAll(events),
    events: takesAll(events) ? [] : events,
    maxConcurrency: endpoint?.maxConcurrency?.toString() ?? '',
    maxPerSecond: endpoint?.maxPerSecond?.toString() ?? '',
  };
}

const number = (text: string) => (text ? Number(text) : null);

function Fields({ draft, set, problem, isNew }: { draft: Draft; set: (draft: Draft) => void; problem: ReturnType<typeof useAction>['problem']; isNew: boolean }) {
  const text = (name: keyof Draft & string) => ({ name, value: String(draft[name]), set: (value: string) => set({ ...draft, [name]: value }), problem });
  return (
    <>
      <TextField label="URL" type="url" hint={t.webhooks.urlHint} required {...text('url')} />
      <TextField label={t.webhooks.receiverKey} type="password" hint={isNew ? t.webhooks.receiverKeyHint : t.webhooks.receiverKeyKept} required={isNew} {...text('receiverKey')} />
      <TextField label={t.webhooks.description} hint={t.webhooks.descriptionHint} max={100} {...text('description')} />
      <Choice
        label={t.webhooks.events}
        name="every"
        value={draft.every ? 'all' : 'some'}
        set={(value) => set({ ...draft, every: value === 'all' })}
        choices={[
          ['all', t.webhooks.allEventsFuture],
          ['some', t.webhooks.someEvents],
        ]}
      />
      {!draft.every && (
        <Checks label={t.webhooks.eventTypes} name="events" value={draft.events} set={(events) => set({ ...draft, events })} problem={problem} choices={EVENT_TYPES.map((one) => [one, one])} />
      )}
      <TextField label={t.webhooks.maxConcurrency} type="number" hint={t.webhooks.capHint} {...text('maxConcurrency')} />
      <TextField label={t.webhooks.maxPerSecond} type="number" hint={t.webhooks.capHint} {...text('maxPerSecond')} />
    </>
  );
}

/** What the API takes of a draft. A field that is left empty is absent in a new endpoint. */
const bodyOf = ({ url, receiverKey, description, every, events, maxConcurrency, maxPerSecond }: Draft) => ({
  url,
  receiverKey,
  description: description || null,
  events: every ? ['*'] : events,
  maxConcurrency: number(maxConcurrency),
  maxPerSecond: number(maxPerSecond),
});

function Create({ close, created }: { close: () => void; created: (id: string, secret: string | null) => void }) {
  const [draft, setDraft] = useState(draftOf());
  const [token] = useState(() => crypto.randomUUID());
  const action = useAction();
  const create = () =>
    action.run(async () => {
      const body = Object.fromEntries(Object.entries(bodyOf(draft)).filter(([, given]) => given !== null)) as Body<typeof ENDPOINTS, 'post'>;
      const made = await value(client.POST(ENDPOINTS, { params: { path: workspace(), header: { 'Idempotency-Key': token } }, body }));
      created(made.id, made.signingSecret);
    });
  return (
    <Dialog title={t.webhooks.create} close={close}>
      <Form submit={create} act={t.webhooks.create} busy={action.busy} cancel={close}>
        {action.problem && <ProblemBox problem={action.problem} fields={FIELDS} />}
        <Fields draft={draft} set={setDraft} problem={action.problem} isNew />
      </Form>
    </Dialog>
  );
}

function Edit({ read, close, reload, saved }: { read: Read; close: () => void; reload: () => void; saved: () => void }) {
  const [first] = useState(() => draftOf(read.value));
  const [draft, setDraft] = useState(first);
  const action = useAction();
  const save = () =>
    action.run(async () => {
      const before = bodyOf(first) as Record<string, unknown>;
      const changes = Object.entries(bodyOf(draft)).filter(([name, given]) => JSON.stringify(given) !== JSON.stringify(before[name]));
      const header = read.etag ? { 'If-Match': read.etag } : {};
      const body = Object.fromEntries(changes) as Body<typeof ENDPOINT, 'patch'>;
      await value(client.PATCH(ENDPOINT, { params: { path: { ...workspace(), endpointId: read.value.id }, header }, body }));
      saved();
    });
  const shown = (some: Draft) => `${some.url} · ${some.description} · ${some.every ? t.webhooks.allEvents : some.events.join(' ')} · ${some.maxConcurrency} · ${some.maxPerSecond}`;
  return (
    <Dialog title={t.webhooks.edit} close={close}>
      <Form submit={save} act={t.webhooks.save} busy={action.busy} cancel={close}>
        <Stale action={action} theirs={shown(draftOf(read.value))} mine={shown(draft)} load={reload} fields={FIELDS} />
        <Fields draft={draft} set={setDraft} problem={action.problem} isNew={false} />
      </Form>
    </Dialog>
  );
}

type Open = 'edit' | 'delete' | 'disable' | 'enable' | 'rotate' | 'replace' | 'activate';

export function OneWebhook({ id }: { id: string }) {
  const found = useLoad(id, () => one(id));
  const [open, setOpen] = useState<Open | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const [tested, setTested] = useState<string | null>(null);
  const test = useAction();
  useWatch(found.value !== null && !found.problem && open === null && secret === null, found.reload);
  const endpoint = found.value?.value;
  const path = { ...workspace(), endpointId: id };
  const act = async (what: 'enable' | 'disable') => {
    const header = found.value?.etag ? { 'If-Match': found.value.etag } : {};
    await value(what === 'enable' ? client.POST(`${ENDPOINT}/enable`, { params: { path, header } }) : client.POST(`${ENDPOINT}/disable`, { params: { path, header } }));
    found.reload();
  };
  const rotate = async (replace: boolean) => {
    const { signingSecret } = await value(client.POST(`${ENDPOINT}/rotate-secret`, { params: { path }, body: { replace } }));
    setSecret(signingSecret);
    found.reload();
  };
  const activate = async () => {
    await value(client.POST(`${ENDPOINT}/activate-secret`, { params: { path } }));
    found.reload();
  };
  const remove = async () => {
    await value(client.DELETE(ENDPOINT, { params: { path } }));
    go(address(workspace().workspaceId, 'webhooks'));
  };
  const enabled = endpoint?.state === 'ENABLED';
  const send = () =>
    test.run(async () => {
      const { deliveryId } = await value(client.POST(`${ENDPOINT}/test`, { params: { path } }));
      setTested(deliveryId);
    });
  const close = () => setOpen(null);
  const stale = () => <LookAgain close={close} reload={found.reload} />;
  return (
    <Page
      title={endpoint ? <Seen text={nameOf(endpoint)} /> : t.webhooks.endpoint}
      name={t.webhooks.endpoint}
      actions={
        endpoint && (
          <>
            {may('webhooks:write') && (
              <>
                <button type="button" onClick={() => setOpen('edit')}>
                  {t.webhooks.edit}
                </button>
                <button type="button" onClick={() => setOpen(enabled ? 'disable' : 'enable')}>
                  {enabled ? t.webhooks.disable : t.webhooks.enable}
                </button>
                <button type="button" onClick={() => setOpen('delete')}>
                  {t.webhooks.remove}
                </button>
              </>
            )}
          </>
        )
      }
    >
      {found.problem && <ProblemBox problem={found.problem} again={found.reload} />}
      {!endpoint && !found.problem && <Bones lines={9} />}
      {endpoint && <About endpoint={endpoint} ask={setOpen} />}
      {endpoint && may('deliveries:read') && (
        <Jobs endpointId={id}>
          <section>
            <div class="head sub">
              <h2>{t.deliveries.title}</h2>
              {may('deliveries:write') && (
                <span class="buttons">
                  <button type="button" class="main" disabled={!enabled || test.busy} onClick={send}>
                    {t.webhooks.test}
                  </button>
                </span>
              )}
            </div>
            {test.problem && <ProblemBox problem={test.problem} />}
            {tested && <Tested id={tested} key={tested} />}
            <DeliveryLog endpointId={id} />
          </section>
        </Jobs>
      )}
      {open === 'edit' && found.value && (
        <Edit
          read={found.value}
          close={close}
          reload={found.reload}
          saved={() => {
            close();
            found.reload();
          }}
        />
      )}
      {open === 'disable' && <Confirm title={t.webhooks.disable} effect={<p>{t.webhooks.disableEffect}</p>} act={t.webhooks.disable} dangerous run={() => act('disable')} close={close} stale={stale} />}
      {open === 'enable' && <Confirm title={t.webhooks.enable} effect={<p>{t.webhooks.enableEffect}</p>} act={t.webhooks.enable} run={() => act('enable')} close={close} stale={stale} />}
      {open === 'delete' && <Confirm title={t.webhooks.remove} effect={<p>{t.webhooks.removeEffect}</p>} act={t.webhooks.remove} dangerous run={remove} close={close} stale={stale} />}
      {open === 'rotate' && <Confirm title={t.webhooks.rotate} effect={<p>{t.webhooks.rotateEffect}</p>} act={t.webhooks.rotate} run={() => rotate(false)} close={close} />}
      {open === 'replace' && <Confirm title={t.webhooks.replace} effect={<p>{t.webhooks.replaceEffect}</p>} act={t.webhooks.replace} dangerous run={() => rotate(true)} close={close} />}
      {open === 'activate' && <Confirm title={t.webhooks.activate} effect={<p>{t.webhooks.activateEffect}</p>} act={t.webhooks.activate} run={activate} close={close} />}
      {secret !== null && <Secret title={t.webhooks.secret} name={t.webhooks.secret} secret={secret} note={t.webhooks.secretNote} close={() => setSecret(null)} />}
    </Page>
  );
}

function About({ endpoint, ask }: { endpoint: Details; ask: (what: Open) => void }) {
  const { health, rotation } = endpoint;
  const fault = faultOf(endpoint);
  const why = endpoint.disabledReason as keyof typeof t.webhooks.reasons | null;
  return (
    <>
      {fault && (
        <div class="notice">
          <p>
            {fault === 'DISABLED' && (
              <>
                {why ? (t.webhooks.reasons[why] ?? why) : ''} <Time at={endpoint.disabledAt} />. {t.webhooks.disabledAdvice}
              </>
            )}
            {fault === 'FAILING' && (
              <>
                {t.webhooks.failing} <Time at={health.failingSince} />. {t.webhooks.failingAdvice}
              </>
            )}
            {fault === 'OPEN' && (
              <>
                {t.webhooks.open} <Time at={health.openUntil} />.
              </>
            )}
            {fault === 'SLOW' && (
              <>
                {t.webhooks.slow} <Time at={health.slowUntil} />.
              </>
            )}
          </p>
        </div>
      )}
      <Facts
        facts={[
          [t.keys.state, <State endpoint={endpoint} />],
          ['URL', <Seen text={endpoint.url} />],
          [t.webhooks.events, <Events events={endpoint.events} />],
          [t.webhooks.width, t.webhooks.widthOf(health.width)],
          [t.webhooks.caps, t.webhooks.capsOf(endpoint.maxConcurrency, endpoint.maxPerSecond)],
          [
            t.webhooks.secret,
            <div class="buttons">
              <span>
                {rotation.nextSecretSigns ? t.webhooks.nextSigns : rotation.previousSignsUntil ? t.webhooks.previousSigns : t.webhooks.oneSigns}{' '}
                {rotation.previousSignsUntil && <Time at={rotation.previousSignsUntil} />}
              </span>
              {may('webhooks:write') &&
                (rotation.nextSecretSigns ? (
                  <>
                    <button type="button" onClick={() => ask('activate')}>
                      {t.webhooks.activate}
                    </button>
                    <button type="button" onClick={() => ask('replace')}>
                      {t.webhooks.replace}
                    </button>
                  </>
                ) : (
                  <button type="button" onClick={() => ask('rotate')}>
                    {t.webhooks.rotate}
                  </button>
                ))}
            </div>,
          ],
          [t.parts.id, <code>{endpoint.id}</code>],
          [t.parts.created, <Time at={endpoint.createdAt} />],
        ]}
      />
    </>
  );
}
