import { client, value, workspace } from '../api';
import type { Schemas } from '../api';
import { useRows } from '../load';
import { Choice } from '../parts/field';
import { FilterBar, useFilters } from '../parts/filters';
import { Page } from '../parts/page';
import { Table } from '../parts/table';
import { Seen } from '../parts/text';
import { t, word } from '../words';

type Attribute = Schemas['CustomAttribute'];

export function Attributes() {
  const filters = useFilters(['archived']);
  const list = useRows<Attribute>(filters.key, async () => {
    const query = { includeArchived: filters.get('archived') === 'yes' };
    const { customAttributes } = await value(client.GET('/service/api/v1/workspaces/{workspaceId}/settings/attributes', { params: { path: workspace(), query } }));
    return { rows: customAttributes, cursor: null };
  });
  return (
    <Page title={t.attributes.title} name={t.attributes.title} intro={t.attributes.intro}>
      <FilterBar filters={filters}>
        <Choice
          label={t.attributes.archived}
          name="archived"
          value={filters.get('archived')}
          set={(value) => filters.set('archived', value)}
          choices={[
            ['', t.attributes.activeOnly],
            ['yes', t.attributes.archivedToo],
          ]}
        />
      </FilterBar>
      <Table
        label={t.attributes.title}
        list={list}
        id={({ id }) => id}
        empty={<p>{t.attributes.empty}</p>}
        columns={[
          { title: t.attributes.key, width: 4, cell: ({ keyName }) => <Seen text={keyName} /> },
          { title: t.attributes.category, width: 2, cell: ({ category }) => t.attributes.categories[category] },
          { title: t.attributes.type, width: 2, cell: ({ type }) => word(type) },
          { title: t.attributes.required, width: 2, cell: ({ isRequired }) => (isRequired ? t.parts.yes : t.parts.no) },
          {
            title: t.attributes.values,
            width: 5,
            cell: ({ closedAttributesValues, deletedAt }) => (
              <>
                {deletedAt && <span class="soft">{t.attributes.isArchived} </span>}
                <Seen text={closedAttributesValues.map(({ value }) => value).join(', ')} />
              </>
            ),
          },
        ]}
      />
    </Page>
  );
}
