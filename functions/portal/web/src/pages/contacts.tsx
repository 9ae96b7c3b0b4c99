import type { ComponentChildren } from 'preact';

import { client, value, workspace } from '../api';
import type { Schemas } from '../api';
import { useLoad, useRows } from '../load';
import { Filter, FilterBar, useFilters } from '../parts/filters';
import { Page } from '../parts/page';
import { ProblemBox } from '../parts/problem';
import { Bones, Facts, Table } from '../parts/table';
import { Maybe, Seen } from '../parts/text';
import { Time } from '../parts/time';
import { address } from '../router';
import { may } from '../session';
import { t, word } from '../words';

type Contact = Schemas['Contact'];

export const nameOf = ({ firstName, lastName }: { firstName: string | null; lastName: string | null }) => [firstName, lastName].filter(Boolean).join(' ');

export function Contacts() {
  const filters = useFilters(['search', 'owner', 'externalId']);
  const list = useRows<Contact>(filters.key, async (cursor) => {
    const { contacts, cursor: next } = await value(
      client.GET('/service/api/v1/workspaces/{workspaceId}/contacts', { params: { path: workspace(), query: { ...filters.all, cursor } } }),
    );
    return { rows: contacts, cursor: next };
  });
  return (
    <Page title={t.contacts.title} name={t.contacts.title} intro={t.contacts.intro}>
      <FilterBar filters={filters}>
        <Filter label={t.contacts.search} name="search" filters={filters} type="search" />
        <Filter label={t.contacts.owner} name="owner" filters={filters} />
        <Filter label={t.contacts.externalId} name="externalId" filters={filters} />
      </FilterBar>
      <Table
        label={t.contacts.title}
        list={list}
        id={({ id }) => id}
        empty={<p>{filters.key === '{}' ? t.contacts.empty : t.parts.noMatch}</p>}
        columns={[
          {
            title: t.contacts.name,
            width: 4,
            cell: (contact) => (
              <a href={address(workspace().workspaceId, 'contacts', { id: contact.id })}>{nameOf(contact) ? <Seen text={nameOf(contact)} /> : <code>{contact.id.slice(0, 8)}</code>}</a>
            ),
          },
          { title: t.contacts.cellphone, width: 3, cell: ({ cellphone }) => <Maybe text={cellphone} /> },
          { title: t.contacts.email, width: 4, cell: ({ email }) => <Maybe text={email} /> },
          { title: t.contacts.type, width: 2, cell: ({ type }) => word(type) },
          { title: t.contacts.changed, width: 3, cell: ({ updatedAt }) => <Time at={updatedAt} /> },
        ]}
      />
    </Page>
  );
}

export function OneContact({ id }: { id: string }) {
  const found = useLoad(id, () =>
    value(client.GET('/service/api/v1/workspaces/{workspaceId}/contacts/{contactId}', { params: { path: { ...workspace(), contactId: id } } })),
  );
  const one = found.value;
  const mergedInto = found.problem?.extra['mergedInto'];
  const at = (page: string, id: string) => address(workspace().workspaceId, page, { id });
  return (
    <Page title={one && nameOf(one) ? <Seen text={nameOf(one)} /> : t.contacts.one} name={t.contacts.one}>
      {found.problem && (
        <ProblemBox problem={found.problem} again={found.reload}>
          {typeof mergedInto === 'string' && (
            <p>
              {t.contacts.merged} <a href={at('contacts', mergedInto)}>{mergedInto}</a>
            </p>
          )}
        </ProblemBox>
      )}
      {!one && !found.problem && <Bones lines={10} />}
      {one && (
        <>
          <Facts
            facts={[
              [t.parts.id, <code>{one.id}</code>],
              [t.contacts.type, word(one.type)],
              [t.contacts.cellphone, <Maybe text={one.cellphone} />],
              [t.contacts.email, <Maybe text={one.email} />],
              [t.contacts.externalId, <Maybe text={one.externalId} />],
              [t.contacts.ownerId, one.ownerId && may('users:read') ? <a href={at('users', one.ownerId)}>{one.ownerId}</a> : <Maybe text={one.ownerId} />],
              [t.contacts.language, <Maybe text={one.languageCode} />],
              ...one.customAttributes.map(({ key, values }): [string, ComponentChildren] => [key, <Maybe text={values.join(', ')} />]),
              [t.parts.created, <Time at={one.createdAt} />],
              [t.contacts.changed, <Time at={one.updatedAt} />],
            ]}
          />
          {may('conversations:read') && (
            <p>
              <a href={address(workspace().workspaceId, 'conversations', { query: { contact: one.id } })}>{t.contacts.conversations}</a>
            </p>
          )}
        </>
      )}
    </Page>
  );
}
