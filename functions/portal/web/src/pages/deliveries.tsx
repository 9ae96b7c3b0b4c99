import { client, value, workspace } from '../api';
import { useAction, useLoad, useRows, useWatch } from '../load';
import { Copy } from '../parts/copy';
import { Choice, Moment } from '../parts/field';
import { FilterBar, useFilters } from '../parts/filters';
import { Badge, Page } from '../parts/page';
import { ProblemBox } from '../parts/problem';
import { Bones, Facts, Table } from '../parts/table';
import { Long, Seen, indented } from '../parts/text';
import { Time } from '../parts/time';
import { address } from '../router';
import { may } from '../session';
import { t } from '../words';
import { EVENT_TYPES, allEndpoints, nameOf } from './webhooks';

const DELIVERIES = '/service/api/v1/workspaces/{workspaceId}/deliveries';
const DELIVERY = '/service/api/v1/workspaces/{workspaceId}/deliveries/{deliveryId}';
const EVENT = '/service/api/v1/workspaces/{workspaceId}/events/{eventId}';

const page = (query: object) => value(client.GET(DELIVERIES, { params: { path: workspace(), query } }));
export type Delivery = Awaited<ReturnType<typeof page>>['deliveries'][number];
const one = (deliveryId: string) => value(client.GET(DELIVERY, { params: { path: { ...workspace(), deliveryId } } }));
type Details = Awaited<ReturnType<typeof one>>;

const STATES = ['PENDING', 'DELIVERED', 'EXHAUSTED', 'PARKED', 'CANCELLED'] as const;
const stateIn = (state: string) => t.deliveries.states[state as (typeof STATES)[number]] ?? state;
const reasonIn = (reason: string) => (t.deliveries.because as Record<string, string>)[reason] ?? reason;
const to = (what: string, id: string) => address(workspace().workspaceId, what, { id });

export const typeChoices = (): [string, string][] => [['', t.parts.all], ...[...EVENT_TYPES, 'webhook.test'].map((one): [string, string] => [one, one])];

export function Deliveries() {
  return (
    <Page title={t.deliveries.title} name={t.deliveries.title} intro={t.deliveries.intro}>
      <DeliveryLog />
    </Page>
  );
}

/** The log of one endpoint, or of all. */
export function DeliveryLog({ endpointId }: { endpointId?: string }) {
  const filters = useFilters(['state', 'eventType', 'endpointId', 'since', 'until']);
  const list = useRows<Delivery & { endpoint: string }>(`${endpointId} ${filters.key}`, async (cursor) => {
    const [{ deliveries, cursor: next }, endpoints] = await Promise.all([
      page({ ...filters.all, ...(endpointId && { endpointId }), cursor }),
      endpointId || !may('webhooks:read') ? [] : allEndpoints(),
    ]);
    // A deleted endpoint has no name.
    const named = (id: string) => endpoints.filter((one) => one.id === id).map(nameOf)[0] ?? id;
    return { rows: deliveries.map((one) => ({ ...one, endpoint: named(one.endpointId) })), cursor: next };
  });
  const retry = useAction();
  const again = (deliveryId: string) =>
    retry.run(async () => {
      await value(client.POST(`${DELIVERY}/retry`, { params: { path: { ...workspace(), deliveryId } } }));
      list.reload();
    });
  return (
    <>
      <FilterBar filters={filters}>
        <Choice
          label={t.keys.state}
          name="state"
          value={filters.get('state')}
          set={(value) => filters.set('state', value)}
          choices={[['', t.parts.all], ...STATES.map((one): [string, string] => [one, stateIn(one)])]}
        />
        <Choice label={t.deliveries.type} name="eventType" value={filters.get('eventType')} set={(value) => filters.set('eventType', value)} choices={typeChoices()} />
        <Moment label={t.parts.since} name="since" value={filters.get('since')} set={(value) => filters.set('since', value)} />
        <Moment label={t.parts.until} name="until" value={filters.get('until')} set={(value) => filters.set('until', value)} />
      </FilterBar>
      {retry.problem && <ProblemBox problem={retry.problem} />}
      <Table
        label={t.deliveries.title}
        list={list}
        id={({ id }) => id}
        empty={<p>{Object.keys(filters.all).length ? t.parts.noMatch : t.deliveries.empty}</p>}
        columns={[
          {
            title: t.deliveries.at,
            width: 3,
            cell: ({ id, createdAt }) => (
              <a href={to('deliveries', id)}>
                <Time at={createdAt} />
              </a>
            ),
          },
          { title: t.deliveries.type, width: 3, cell: ({ eventType }) => <code>{eventType}</code> },
          ...(endpointId
            ? []
            : [
                {
                  title: t.webhooks.endpoint,
                  width: 3,
                  cell: (row: Delivery & { endpoint: string }) => (
                    <a href={to('webhooks', row.endpointId)}>
                      <Seen text={row.endpoint} />
                    </a>
                  ),
                },
              ]),
          { title: t.keys.state, width: 2, cell: ({ state }) => <Badge state={state} words={stateIn(state)} /> },
          { title: t.deliveries.answer, width: 2, cell: ({ lastStatus, lastError }) => lastStatus ?? lastError ?? <span class="soft">–</span> },
          { title: t.deliveries.attempts, width: 2, cell: ({ attempts }) => attempts },
          { title: t.deliveries.next, width: 3, cell: ({ dueAt }) => <Time at={dueAt} /> },
          {
            title: '',
            width: 2,
            cell: ({ id, state, eventType }) =>
              may('deliveries:write') &&
              (state === 'EXHAUSTED' || state === 'PARKED') && (
                <button type="button" disabled={retry.busy} onClick={() => again(id)} aria-label={`${t.deliveries.retry}: ${eventType}`}>
                  {t.deliveries.retry}
                </button>
              ),
          },
        ]}
      />
    </>
  );
}

export function OneDelivery({ id }: { id: string }) {
  const found = useLoad(id, () => one(id));
  const retry = useAction();
  const delivery = found.value;
  useWatch(delivery?.state === 'PENDING', found.reload);
  const again = () =>
    retry.run(async () => {
      await value(client.POST(`${DELIVERY}/retry`, { params: { path: { ...workspace(), deliveryId: id } } }));
      found.reload();
    });
  const retries = delivery && may('deliveries:write') && delivery.state !== 'CANCELLED';
  return (
    <Page
      title={delivery ? <code>{delivery.eventType}</code> : t.deliveries.one}
      name={t.deliveries.one}
      actions={
        retries && (
          <button type="button" class="main" disabled={retry.busy} onClick={again}>
            {t.deliveries.retry}
          </button>
        )
      }
    >
      {found.problem && <ProblemBox problem={found.problem} again={found.reload} />}
      {retry.problem && <ProblemBox problem={retry.problem} />}
      {!delivery && !found.problem && <Bones lines={9} />}
      {delivery && <About delivery={delivery} />}
      {delivery && may('events:read') && <BodyOf eventId={delivery.eventId} />}
    </Page>
  );
}

function About({ delivery }: { delivery: Details }) {
  return (
    <>
      <Facts
        facts={[
          [
            t.keys.state,
            <span>
              <Badge state={delivery.state} words={stateIn(delivery.state)} /> {delivery.because && reasonIn(delivery.because)}
            </span>,
          ],
          ['URL', delivery.url === null ? <span class="soft">–</span> : <Seen text={delivery.url} />],
          [t.webhooks.endpoint, <a href={to('webhooks', delivery.endpointId)}>{delivery.endpointId}</a>],
          [t.events.one, may('events:read') ? <a href={to('events', delivery.eventId)}>{delivery.eventId}</a> : <code>{delivery.eventId}</code>],
          [t.parts.created, <Time at={delivery.createdAt} />],
          [t.deliveries.next, <Time at={delivery.dueAt} />],
        ]}
      />
      <h2>{t.deliveries.attempts}</h2>
      {delivery.attemptLog.length === 0 && <p class="soft">{t.deliveries.noAttempts}</p>}
      <ol class="attempts">
        {delivery.attemptLog.map(({ number, at, tookMs, status, error, retryAfterMs, answer }) => (
          <li key={number}>
            <Badge state={status !== null && status >= 200 && status < 300 ? 'DELIVERED' : 'FAILED'} words={String(status ?? error ?? t.deliveries.noAnswer)} />{' '}
            <Time at={at} /> <span class="soft">{tookMs} ms</span> {error && <span>{reasonIn(error)}</span>}{' '}
            {retryAfterMs !== null && <span class="soft">Retry-After {retryAfterMs / 1000} s</span>}
            {answer && <Long text={answer} label={t.deliveries.answerOf(number)} />}
          </li>
        ))}
      </ol>
      <h2>{t.deliveries.request}</h2>
      <Facts facts={delivery.headers.map(({ name, value }) => [name, value === null ? <span class="soft">{t.deliveries.hidden}</span> : <Seen text={value} />])} />
    </>
  );
}

/** The body of an event, as it was signed. */
export function BodyOf({ eventId }: { eventId: string }) {
  const found = useLoad(eventId, () => value(client.GET(EVENT, { params: { path: { ...workspace(), eventId } } })));
  const body = found.value?.body;
  return (
    <section>
      <div class="head sub">
        <h2>{t.events.body}</h2>
        {typeof body === 'string' && (
          <span class="buttons">
            <Copy text={body} label={t.events.copy} />
          </span>
        )}
      </div>
      {found.problem && <ProblemBox problem={found.problem} again={found.reload} />}
      {!found.value && !found.problem && <Bones lines={6} />}
      {typeof body === 'string' && <Long text={indented(body)} label={t.events.body} />}
    </section>
  );
}

/** What became of a test, on the screen where it was sent. */
export function Tested({ id }: { id: string }) {
  const found = useLoad(id, () => one(id));
  const delivery = found.value;
  useWatch(!delivery || delivery.state === 'PENDING', found.reload, 1);
  const last = delivery?.attemptLog.at(-1);
  return (
    <div class="notice" role="status">
      <p>
        {t.webhooks.tested} {delivery ? <Badge state={delivery.state} words={stateIn(delivery.state)} /> : t.parts.loading} {last?.status}{' '}
        {last && `${last.tookMs} ms`} {last?.error && reasonIn(last.error)} <a href={to('deliveries', id)}>{t.webhooks.showTest}</a>
      </p>
      {last?.answer && <Long text={last.answer} label={t.deliveries.answer} />}
    </div>
  );
}
