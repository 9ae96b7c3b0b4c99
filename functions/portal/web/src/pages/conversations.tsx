import { client, value, workspace } from '../api';
import type { Schemas } from '../api';
import { useLoad, useRows } from '../load';
import type { Rows } from '../load';
import { Choice } from '../parts/field';
import { Filter, FilterBar, useFilters } from '../parts/filters';
import { Badge, Page } from '../parts/page';
import { ProblemBox } from '../parts/problem';
import { Bones, Facts, Table } from '../parts/table';
import { Seen } from '../parts/text';
import { Time } from '../parts/time';
import { address } from '../router';
import { may } from '../session';
import { t, word } from '../words';

type Conversation = Schemas['Conversation'];
type Message = Schemas['Message'];
const STATUSES: Schemas['ConversationStatus'][] = ['ACTIVE', 'GHOST', 'RELEASED', 'NOT_ASSIGNED_TO_HUMAN', 'BLOCKED'];

const to = (page: string, id: string) => address(workspace().workspaceId, page, { id });

export function Conversations() {
  const filters = useFilters(['status', 'contact']);
  const list = useRows<Conversation>(filters.key, async (cursor) => {
    const contact = filters.get('contact');
    const query = {
      cursor,
      ...(filters.get('status') && { status: filters.get('status') as Conversation['status'] }),
      ...(contact && { externalUserIdentifier: contact, externalIdentifierType: typeOf(contact) }),
    };
    const { conversations, cursor: next } = await value(
      client.GET('/service/api/v1/workspaces/{workspaceId}/conversations', { params: { path: workspace(), query } }),
    );
    return { rows: conversations, cursor: next };
  });
  return (
    <Page title={t.conversations.title} name={t.conversations.title} intro={t.conversations.intro}>
      <FilterBar filters={filters}>
        <Choice
          label={t.conversations.status}
          name="status"
          value={filters.get('status')}
          set={(value) => filters.set('status', value)}
          choices={[['', t.parts.all], ...STATUSES.map((one): [string, string] => [one, word(one)])]}
        />
        <Filter label={t.conversations.contact} name="contact" filters={filters} type="search" />
      </FilterBar>
      <Table
        label={t.conversations.title}
        list={list}
        id={({ id }) => id}
        empty={<p>{t.conversations.empty}</p>}
        columns={[
          {
            title: t.conversations.name,
            width: 4,
            cell: ({ id, name }) => <a href={to('conversations', id)}>{name ? <Seen text={name} /> : <code>{id.slice(0, 8)}</code>}</a>,
          },
          { title: t.conversations.status, width: 2, cell: ({ status }) => <Badge state={status} words={word(status)} /> },
          {
            title: t.conversations.customers,
            width: 4,
            cell: ({ participants }) => participants.externals.map(({ identifier }) => identifier).join(', ') || <span class="soft">–</span>,
          },
          { title: t.conversations.changed, width: 3, cell: ({ updatedAt }) => <Time at={updatedAt} /> },
        ]}
      />
    </Page>
  );
}

function typeOf(contact: string): 'EMAIL' | 'PHONE' | 'ID' {
  if (contact.includes('@')) return 'EMAIL';
  return /^[+\d]/.test(contact) && !contact.includes('-') ? 'PHONE' : 'ID';
}

export function OneConversation({ id }: { id: string }) {
  const path = { ...workspace(), conversationId: id };
  const found = useLoad(id, () => value(client.GET('/service/api/v1/workspaces/{workspaceId}/conversations/{conversationId}', { params: { path } })));
  const reads = may('messages:read');
  const messages = useMessages(id, reads);
  const one = found.value;
  return (
    <Page title={one?.name ? <Seen text={one.name} /> : t.conversations.one} name={t.conversations.one}>
      {found.problem && <ProblemBox problem={found.problem} again={found.reload} />}
      {!one && !found.problem && <Bones lines={6} />}
      {one && (
        <Facts
          facts={[
            [t.parts.id, <code>{one.id}</code>],
            [t.conversations.status, <Badge state={one.status} words={word(one.status)} />],
            [t.conversations.customers, <People people={one.participants.externals} page="contacts" />],
            [t.conversations.agents, <People people={one.participants.internals} page="users" />],
            [t.parts.created, <Time at={one.createdAt} />],
            [t.conversations.changed, <Time at={one.updatedAt} />],
          ]}
        />
      )}
      {one && reads && <Messages list={messages} />}
    </Page>
  );
}

function People({ people, page }: { people: Schemas['ParticipantRecord'][]; page: 'contacts' | 'users' }) {
  if (people.length === 0) return <span class="soft">–</span>;
  return (
    <ul class="plain">
      {people.map(({ identifier, identifierType }) => (
        <li key={identifier}>{identifierType === 'ID' ? <a href={to(page, identifier)}>{identifier}</a> : <Seen text={identifier} />}</li>
      ))}
    </ul>
  );
}

/** The messages of a conversation. They are read beside the conversation, and shown below it. */
function useMessages(id: string, reads: boolean): Rows<Message> {
  return useRows<Message>(id, async (cursor) => {
    if (!reads) return { rows: [], cursor: null };
    const { messages, cursor: next } = await value(
      client.GET('/service/api/v1/workspaces/{workspaceId}/conversations/{conversationId}/messages', {
        params: { path: { ...workspace(), conversationId: id }, query: { cursor } },
      }),
    );
    return { rows: messages, cursor: next };
  });
}

function Messages({ list }: { list: Rows<Message> }) {
  return (
    <section>
      <h2>{t.messages.title}</h2>
      <Table
        label={t.messages.title}
        list={list}
        id={(message) => message.id}
        empty={<p>{t.messages.empty}</p>}
        columns={[
          { title: t.messages.at, width: 3, cell: ({ createdAt }) => <Time at={createdAt} /> },
          { title: t.messages.direction, width: 2, cell: ({ direction }) => word(direction) },
          { title: t.messages.text, width: 6, cell: (message) => <Text message={message} /> },
          { title: t.messages.status, width: 3, cell: (message) => <Status message={message} /> },
        ]}
      />
    </section>
  );
}

function Text({ message }: { message: Message }) {
  const { messageBody, type, content, mediaIds, revokedAt } = message;
  const template = type === 'TEMPLATE' ? (content as { name?: string; text?: string | null } | null) : null;
  const text = messageBody ?? template?.text;
  return (
    <>
      {revokedAt && <span class="soft">{t.messages.deleted} </span>}
      {text ? <Seen text={text} /> : <span class="soft">{template?.name ?? word(type)}</span>}
      {mediaIds.length > 0 && <div class="soft small">{t.messages.files(mediaIds.length)}</div>}
    </>
  );
}

function Status({ message: { status, parts, direction } }: { message: Message }) {
  const failed = parts.filter(({ error }) => error !== null);
  return (
    <>
      {direction === 'INTERNAL' ? <span class="soft">{t.messages.note}</span> : <Badge state={status} words={word(status)} />}
      {failed.map(({ recipient, index, error, errorInWords, errorDetail }) => (
        <div key={`${recipient}${index}`} class="small">
          <code>{error}</code> {errorInWords} {errorDetail && <Seen text={errorDetail} />}
        </div>
      ))}
    </>
  );
}
