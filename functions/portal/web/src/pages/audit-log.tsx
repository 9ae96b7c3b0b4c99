import { client, value, workspace } from '../api';
import type { Schemas } from '../api';
import { useRows } from '../load';
import { Choice, Moment } from '../parts/field';
import { Filter, FilterBar, useFilters } from '../parts/filters';
import { Page } from '../parts/page';
import { Table } from '../parts/table';
import { Seen } from '../parts/text';
import { Time } from '../parts/time';
import { t } from '../words';

type Entry = Schemas['AuditEntry'];

// A page without a word for an action or an actor of the API, or with one for another, is not built.
type Exactly<Names extends string, Words> = Words & Record<Exclude<keyof Words, Names>, never>;
const ACTIONS = (): Record<Schemas['AuditAction'], string> => t.audit.actions satisfies Exactly<Schemas['AuditAction'], typeof t.audit.actions>;
const ACTORS = (): Record<Entry['actor']['type'], string> => t.audit.actors satisfies Exactly<Entry['actor']['type'], typeof t.audit.actors>;

export function AuditLog() {
  const filters = useFilters(['action', 'actorId', 'subjectId', 'since', 'until']);
  const list = useRows<Entry>(filters.key, async (cursor) => {
    const query = { ...(filters.all as { action?: Schemas['AuditAction'] }), cursor };
    const { entries, cursor: next } = await value(client.GET('/service/api/v1/workspaces/{workspaceId}/audit-log', { params: { path: workspace(), query } }));
    return { rows: entries, cursor: next };
  });
  const actions = Object.entries(ACTIONS());
  return (
    <Page title={t.audit.title} name={t.audit.title} intro={t.audit.intro}>
      <FilterBar filters={filters}>
        <Choice
          label={t.audit.action}
          name="action"
          value={filters.get('action')}
          set={(value) => filters.set('action', value)}
          choices={[['', t.parts.all], ...actions]}
        />
        <Filter label={t.audit.actor} name="actorId" filters={filters} />
        <Filter label={t.audit.subject} name="subjectId" filters={filters} />
        <Moment label={t.parts.since} name="since" value={filters.get('since')} set={(value) => filters.set('since', value)} />
        <Moment label={t.parts.until} name="until" value={filters.get('until')} set={(value) => filters.set('until', value)} />
      </FilterBar>
      <Table
        label={t.audit.title}
        list={list}
        id={({ id }) => id}
        empty={<p>{t.audit.empty}</p>}
        columns={[
          { title: t.audit.at, width: 3, cell: ({ at }) => <Time at={at} /> },
          {
            title: t.audit.actor,
            width: 4,
            cell: ({ actor }) => (
              <>
                {ACTORS()[actor.type] ?? actor.type}{' '}
                {'subject' in actor && typeof actor.subject === 'string' ? <Seen text={actor.subject} /> : <Id id={actor.id} filter={() => filters.set('actorId', actor.id)} />}
              </>
            ),
          },
          { title: t.audit.action, width: 3, cell: ({ action }) => ACTIONS()[action as Schemas['AuditAction']] ?? <code>{action}</code> },
          { title: t.audit.subject, width: 4, cell: ({ subject }) => <Id id={subject.id} filter={() => filters.set('subjectId', subject.id)} /> },
          { title: t.audit.fields, width: 3, cell: ({ fields }) => (fields.length ? <code>{fields.join(' ')}</code> : <span class="soft">–</span>) },
          { title: 'X-Request-Id', width: 4, cell: ({ requestId }) => (requestId ? <code>{requestId}</code> : <span class="soft">–</span>) },
        ]}
      />
    </Page>
  );
}

/** An id that filters by itself. */
function Id({ id, filter }: { id: string; filter: () => void }) {
  return (
    <button type="button" class="plain" onClick={filter} title={t.audit.only}>
      <code>{id}</code>
    </button>
  );
}
