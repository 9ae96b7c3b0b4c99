import { client, value, workspace } from '../api';
import { useLoad, useRows } from '../load';
import { Choice, Moment } from '../parts/field';
import { FilterBar, useFilters } from '../parts/filters';
import { Page } from '../parts/page';
import { ProblemBox } from '../parts/problem';
import { Bones, Facts, Table } from '../parts/table';
import { Time } from '../parts/time';
import { address } from '../router';
import { t } from '../words';
import { BodyOf, typeChoices } from './deliveries';

const EVENTS = '/service/api/v1/workspaces/{workspaceId}/events';
const page = (query: object) => value(client.GET(EVENTS, { params: { path: workspace(), query } }));
type Event = Awaited<ReturnType<typeof page>>['events'][number];

export function Events() {
  const filters = useFilters(['eventType', 'since', 'until']);
  const list = useRows<Event>(filters.key, async (cursor) => {
    const { events, cursor: next } = await page({ ...filters.all, cursor });
    return { rows: events, cursor: next };
  });
  return (
    <Page title={t.events.title} name={t.events.title} intro={t.events.intro}>
      <FilterBar filters={filters}>
        <Choice label={t.deliveries.type} name="eventType" value={filters.get('eventType')} set={(value) => filters.set('eventType', value)} choices={typeChoices()} />
        <Moment label={t.parts.since} name="since" value={filters.get('since')} set={(value) => filters.set('since', value)} />
        <Moment label={t.parts.until} name="until" value={filters.get('until')} set={(value) => filters.set('until', value)} />
      </FilterBar>
      <Table
        label={t.events.title}
        list={list}
        id={({ id }) => id}
        empty={<p>{Object.keys(filters.all).length ? t.parts.noMatch : t.events.empty}</p>}
        columns={[
          {
            title: t.deliveries.at,
            width: 3,
            cell: ({ id, at }) => (
              <a href={address(workspace().workspaceId, 'events', { id })}>
                <Time at={at} />
              </a>
            ),
          },
          { title: t.deliveries.type, width: 3, cell: ({ type }) => <code>{type}</code> },
          { title: t.parts.id, width: 5, cell: ({ id }) => <code>{id}</code> },
        ]}
      />
    </Page>
  );
}

export function OneEvent({ id }: { id: string }) {
  const found = useLoad(id, () => value(client.GET(`${EVENTS}/{eventId}`, { params: { path: { ...workspace(), eventId: id } } })));
  const event = found.value;
  return (
    <Page title={event ? <code>{event.type}</code> : t.events.one} name={t.events.one}>
      {found.problem && <ProblemBox problem={found.problem} again={found.reload} />}
      {!event && !found.problem && <Bones lines={3} />}
      {event && (
        <>
          <Facts
            facts={[
              [t.parts.id, <code>{event.id}</code>],
              [t.deliveries.at, <Time at={event.at} />],
              ['X-Request-Id', event.requestId ? <code>{event.requestId}</code> : <span class="soft">–</span>],
            ]}
          />
          <BodyOf eventId={id} />
        </>
      )}
    </Page>
  );
}
