import { client, value, workspace } from '../api';
import type { Schemas } from '../api';
import { useRows } from '../load';
import { Copy } from '../parts/copy';
import { Page } from '../parts/page';
import { Table } from '../parts/table';
import { Seen } from '../parts/text';
import { Time } from '../parts/time';
import { address } from '../router';
import { t } from '../words';

type Brand = Schemas['Brand'];

export const allBrands = async (): Promise<Brand[]> => (await value(client.GET('/service/api/v1/workspaces/{workspaceId}/settings/brands', { params: { path: workspace() } }))).brands;

export function Brands() {
  const list = useRows<Brand>('brands', async () => ({ rows: await allBrands(), cursor: null }));
  return (
    <Page title={t.brands.title} name={t.brands.title} intro={t.brands.intro}>
      <Table
        label={t.brands.title}
        list={list}
        id={({ id }) => id}
        empty={<p>{t.brands.empty}</p>}
        columns={[
          { title: t.contacts.name, width: 3, cell: ({ name }) => <Seen text={name} /> },
          {
            title: t.parts.id,
            width: 5,
            cell: ({ id, name }) => (
              <span class="buttons">
                <code>{id}</code> <Copy text={id} label={`${t.parts.copy}: ${name}`} />
              </span>
            ),
          },
          {
            title: t.brands.line,
            width: 3,
            cell: ({ providerChannelId: line }) => (line ? <a href={address(workspace().workspaceId, 'lines', { id: line })}>{line}</a> : <span class="soft">–</span>),
          },
          { title: t.parts.created, width: 3, cell: ({ createdAt }) => <Time at={createdAt} /> },
        ]}
      />
    </Page>
  );
}
