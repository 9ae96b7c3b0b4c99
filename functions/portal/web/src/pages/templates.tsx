import { client, value, workspace } from '../api';
import type { Schemas } from '../api';
import { useLoad, useRows } from '../load';
import { Choice } from '../parts/field';
import { Filter, FilterBar, useFilters } from '../parts/filters';
import { Badge, Page } from '../parts/page';
import { ProblemBox } from '../parts/problem';
import { Bones, Facts, Table } from '../parts/table';
import { Seen } from '../parts/text';
import { Time } from '../parts/time';
import { address } from '../router';
import { t, word } from '../words';

type Template = Schemas['Template'];
const STATUSES: Schemas['TemplateStatus'][] = ['APPROVED', 'PAUSED', 'PENDING', 'REJECTED', 'DISABLED', 'FLAGGED', 'LOCKED', 'MISMATCH', 'UNSUPPORTED'];
const CATEGORIES: Schemas['TemplateCategory'][] = ['UTILITY', 'MARKETING', 'AUTHENTICATION'];

const none = <span class="soft">–</span>;

export function Templates() {
  const filters = useFilters(['status', 'category', 'language']);
  const list = useRows<Template>(filters.key, async (cursor) => {
    const query = { ...(filters.all as { status?: Schemas['TemplateStatus']; category?: Schemas['TemplateCategory'] }), cursor };
    const { templates, cursor: next } = await value(client.GET('/service/api/v1/workspaces/{workspaceId}/templates', { params: { path: workspace(), query } }));
    return { rows: templates, cursor: next };
  });
  const choices = (all: string[]): [string, string][] => [['', t.parts.all], ...all.map((one): [string, string] => [one, word(one)])];
  return (
    <Page title={t.templates.title} name={t.templates.title} intro={t.templates.intro}>
      <FilterBar filters={filters}>
        <Choice label={t.templates.status} name="status" value={filters.get('status')} set={(value) => filters.set('status', value)} choices={choices(STATUSES)} />
        <Choice label={t.templates.category} name="category" value={filters.get('category')} set={(value) => filters.set('category', value)} choices={choices(CATEGORIES)} />
        <Filter label={t.templates.language} name="language" filters={filters} />
      </FilterBar>
      <Table
        label={t.templates.title}
        list={list}
        id={({ id }) => id}
        empty={<p>{filters.key === '{}' ? t.templates.empty : t.parts.noMatch}</p>}
        columns={[
          {
            title: t.templates.name,
            width: 4,
            cell: ({ id, name }) => (
              <a href={address(workspace().workspaceId, 'templates', { id })}>
                <Seen text={name} />
              </a>
            ),
          },
          { title: t.templates.language, width: 2, cell: ({ language }) => language },
          { title: t.templates.category, width: 2, cell: ({ category }) => (category ? word(category) : none) },
          { title: t.templates.status, width: 4, cell: ({ statuses }) => <Statuses statuses={statuses} /> },
          { title: t.templates.parameters, width: 4, cell: ({ parameters }) => (parameters.length ? <code>{parameters.map(({ name }) => name).join(' ')}</code> : none) },
        ]}
      />
    </Page>
  );
}

function Statuses({ statuses }: { statuses: Template['statuses'] }) {
  const counts = new Map<string, number>();
  for (const { status } of statuses) counts.set(status ?? '', (counts.get(status ?? '') ?? 0) + 1);
  if (counts.size === 0) return none;
  return (
    <span class="badges">
      {[...counts].map(([status, count]) => (
        <Badge key={status} state={status} words={`${status ? word(status) : t.templates.unknown}${count > 1 ? ` × ${count}` : ''}`} />
      ))}
    </span>
  );
}

export function OneTemplate({ id }: { id: string }) {
  const found = useLoad(id, () =>
    value(client.GET('/service/api/v1/workspaces/{workspaceId}/templates/{templateId}', { params: { path: { ...workspace(), templateId: id } } })),
  );
  const one = found.value;
  return (
    <Page title={one ? <Seen text={one.name} /> : t.templates.one} name={t.templates.one}>
      {found.problem && <ProblemBox problem={found.problem} again={found.reload} />}
      {!one && !found.problem && <Bones lines={12} />}
      {one && (
        <>
          <Facts
            facts={[
              [t.parts.id, <code>{one.id}</code>],
              [t.templates.scope, word(one.scope)],
              [t.templates.language, one.language],
              [t.templates.category, one.category ? word(one.category) : none],
            ]}
          />
          <h2>{t.templates.text}</h2>
          <div class="bubble">
            {one.header && (
              <p>
                <strong>{one.header.text ? <Seen text={one.header.text} /> : word(one.header.kind)}</strong>
              </p>
            )}
            <p class="lines">{one.body ? <Seen text={one.body} /> : <span class="soft">{t.templates.noText}</span>}</p>
            {one.footer && (
              <p class="soft small">
                <Seen text={one.footer} />
              </p>
            )}
            {one.buttons.map(({ text }) => (
              <p key={text} class="choice">
                <Seen text={text} />
              </p>
            ))}
          </div>
          <h2>{t.templates.parameters}</h2>
          {one.parameters.length === 0 && <p class="soft">{t.templates.noParameters}</p>}
          {one.parameters.length > 0 && (
            <Facts
              facts={one.parameters.map(({ name, kind, source, required, fallback }) => [
                name,
                <>
                  {word(kind)} · {source.startsWith('CONTACT') ? t.templates.fromContact(source.split('.')[1] ?? '') : source === 'FIXED' ? t.templates.fixed : t.templates.fromCaller}
                  {required && ` · ${t.templates.required}`}
                  {fallback !== null && (
                    <>
                      {' · '}
                      {t.templates.fallback} <Seen text={fallback} />
                    </>
                  )}
                </>,
              ])}
            />
          )}
          <h2>{t.templates.accounts}</h2>
          {one.statuses.length === 0 && <p class="soft">{t.templates.noAccounts}</p>}
          <Facts
            facts={one.statuses.map(({ businessAccountId, status, sendable, quality, reason, updatedAt }) => [
              businessAccountId,
              <>
                <Badge state={status ?? ''} words={status ? word(status) : t.templates.unknown} /> {sendable ? t.templates.sendable : t.templates.notSendable}
                {quality && ` · ${t.templates.quality} ${quality}`}
                {reason && (
                  <>
                    {' · '}
                    <Seen text={reason} />
                  </>
                )}
                {updatedAt && (
                  <>
                    {' · '}
                    <Time at={updatedAt} />
                  </>
                )}
              </>,
            ])}
          />
        </>
      )}
    </Page>
  );
}
