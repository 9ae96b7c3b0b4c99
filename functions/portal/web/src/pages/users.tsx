// The agents of the workspace.

import { useState } from 'preact/hooks';

import { answer, client, value, workspace } from '../api';
import type { Body, Problem, Schemas } from '../api';
import { useAction, useLoad, useRows } from '../load';
import { Confirm, Dialog } from '../parts/dialog';
import { Choice, Form, TextField } from '../parts/field';
import { Filter, FilterBar, useFilters } from '../parts/filters';
import { Badge, Page } from '../parts/page';
import { ProblemBox } from '../parts/problem';
import { LookAgain, Stale } from '../parts/stale';
import { Bones, Facts, Table } from '../parts/table';
import { Maybe, Seen } from '../parts/text';
import { Time } from '../parts/time';
import { address, go } from '../router';
import { may } from '../session';
import { t, word } from '../words';
import { nameOf } from './contacts';

const USERS = '/service/api/v1/workspaces/{workspaceId}/users';
const USER = '/service/api/v1/workspaces/{workspaceId}/users/{userId}';

export type User = Schemas['InternalUser'];
type Status = Schemas['UserStatus'];

const STATUSES: Status[] = ['active', 'disabled'];
const LANGUAGES: Schemas['LanguageCode'][] = ['EN', 'ES'];
const to = (id: string) => address(workspace().workspaceId, 'users', { id });

/** A page of the users that match. */
export async function usersOf(filters: object, cursor: string | undefined) {
  const { users, cursor: next } = await value(client.GET(USERS, { params: { path: workspace(), query: { ...filters, cursor } } }));
  return { rows: users, cursor: next };
}

export function Users() {
  const filters = useFilters(['search', 'status']);
  const list = useRows<User>(filters.key, (cursor) => usersOf(filters.all, cursor));
  const [creating, setCreating] = useState(false);
  return (
    <Page
      title={t.users.title}
      name={t.users.title}
      intro={t.users.intro}
      actions={
        may('users:write') && (
          <button type="button" class="main" onClick={() => setCreating(true)}>
            {t.users.create}
          </button>
        )
      }
    >
      <FilterBar filters={filters}>
        <Filter label={t.users.search} name="search" filters={filters} type="search" />
        <Choice
          label={t.users.status}
          name="status"
          value={filters.get('status')}
          set={(value) => filters.set('status', value)}
          choices={[['', t.parts.all], ...STATUSES.map((one): [string, string] => [one, word(one)])]}
        />
      </FilterBar>
      <Table
        label={t.users.title}
        list={list}
        id={({ id }) => id}
        empty={<p>{Object.keys(filters.all).length ? t.parts.noMatch : t.users.empty}</p>}
        columns={[
          {
            title: t.contacts.name,
            width: 4,
            cell: (user) => <a href={to(user.id)}>{nameOf(user) ? <Seen text={nameOf(user)} /> : <code>{user.id.slice(0, 8)}</code>}</a>,
          },
          { title: t.contacts.email, width: 5, cell: ({ email }) => <Seen text={email} /> },
          { title: t.users.status, width: 2, cell: ({ status }) => <Badge state={status} words={word(status)} /> },
          { title: t.contacts.language, width: 2, cell: ({ languageCode }) => <Maybe text={languageCode && word(languageCode)} /> },
          { title: t.contacts.changed, width: 3, cell: ({ updatedAt }) => <Time at={updatedAt} /> },
        ]}
      />
      {creating && <Create close={() => setCreating(false)} />}
    </Page>
  );
}

type Draft = Record<'firstName' | 'lastName' | 'cellphone' | 'languageCode', string>;
const FIELDS = ['firstName', 'lastName', 'cellphone', 'languageCode'] as const;

const draftOf = (user?: User): Draft => ({ firstName: user?.firstName ?? '', lastName: user?.lastName ?? '', cellphone: user?.cellphone ?? '', languageCode: user?.languageCode ?? '' });

function Fields({ draft, set, problem }: { draft: Draft; set: (draft: Draft) => void; problem: Problem | null }) {
  const field = (name: keyof Draft) => ({ name, value: draft[name], set: (value: string) => set({ ...draft, [name]: value }), problem });
  return (
    <>
      <TextField label={t.users.firstName} max={100} {...field('firstName')} />
      <TextField label={t.users.lastName} max={100} {...field('lastName')} />
      <TextField label={t.contacts.cellphone} hint={t.users.cellphoneHint} {...field('cellphone')} />
      <Choice label={t.contacts.language} {...field('languageCode')} choices={[['', '–'], ...LANGUAGES.map((one): [string, string] => [one, word(one)])]} />
    </>
  );
}

function Create({ close }: { close: () => void }) {
  const [email, setEmail] = useState('');
  const [draft, setDraft] = useState(draftOf());
  const [token] = useState(() => crypto.randomUUID());
  const action = useAction();
  const create = () =>
    action.run(async () => {
      const given = Object.fromEntries(Object.entries(draft).filter(([, text]) => text)) as Partial<Body<typeof USERS, 'post'>>;
      const { id } = await value(client.POST(USERS, { params: { path: workspace(), header: { 'Idempotency-Key': token } }, body: { email, ...given } }));
      go(to(id));
    });
  const other = action.problem?.status === 409 && action.problem.extra['id'];
  return (
    <Dialog title={t.users.create} close={close}>
      <Form submit={create} act={t.users.create} busy={action.busy} cancel={close}>
        {action.problem && (
          <ProblemBox problem={action.problem} fields={['email', ...FIELDS]}>
            {typeof other === 'string' && (
              <p>
                <a href={to(other)}>{t.users.other}</a>
              </p>
            )}
          </ProblemBox>
        )}
        <TextField label={t.contacts.email} name="email" hint={t.users.emailHint} value={email} set={setEmail} problem={action.problem} required max={254} />
        <Fields draft={draft} set={setDraft} problem={action.problem} />
      </Form>
    </Dialog>
  );
}

interface Read {
  value: User;
  etag: string | null;
}

/** Sends only what the person changed. An emptied field is cleared. */
function Edit({ read, close, reload, saved }: { read: Read; close: () => void; reload: () => void; saved: () => void }) {
  const [first] = useState(() => draftOf(read.value));
  const [draft, setDraft] = useState(first);
  const action = useAction();
  const save = () =>
    action.run(async () => {
      const changed = FIELDS.filter((name) => draft[name] !== first[name]).map((name) => [name, draft[name] || null]);
      const header = read.etag ? { 'If-Match': read.etag } : {};
      await value(client.PATCH(USER, { params: { path: { ...workspace(), userId: read.value.id }, header }, body: Object.fromEntries(changed) as Body<typeof USER, 'patch'> }));
      saved();
    });
  const shown = (some: Draft) => FIELDS.map((name) => some[name] || '–').join(' · ');
  return (
    <Dialog title={t.users.edit} close={close}>
      <Form submit={save} act={t.webhooks.save} busy={action.busy} cancel={close}>
        <Stale action={action} theirs={shown(draftOf(read.value))} mine={shown(draft)} load={reload} fields={[...FIELDS]} />
        <Fields draft={draft} set={setDraft} problem={action.problem} />
      </Form>
    </Dialog>
  );
}

export function OneUser({ id }: { id: string }) {
  const found = useLoad(id, () => answer(client.GET(USER, { params: { path: { ...workspace(), userId: id } } })));
  const [open, setOpen] = useState<'edit' | 'status' | null>(null);
  const close = () => setOpen(null);
  const one = found.value?.value;
  const act = one?.status === 'active' ? t.webhooks.disable : t.webhooks.enable;
  const turn = async () => {
    const header = found.value?.etag ? { 'If-Match': found.value.etag } : {};
    await value(client.PATCH(USER, { params: { path: { ...workspace(), userId: id }, header }, body: { status: one?.status === 'active' ? 'disabled' : 'active' } }));
    found.reload();
  };
  return (
    <Page
      title={one && nameOf(one) ? <Seen text={nameOf(one)} /> : t.users.one}
      name={t.users.one}
      actions={
        one &&
        may('users:write') && (
          <>
            <button type="button" onClick={() => setOpen('edit')}>
              {t.webhooks.edit}
            </button>
            <button type="button" onClick={() => setOpen('status')}>
              {act}
            </button>
          </>
        )
      }
    >
      {found.problem && <ProblemBox problem={found.problem} again={found.reload} />}
      {!one && !found.problem && <Bones lines={7} />}
      {one && (
        <Facts
          facts={[
            [t.users.status, <Badge state={one.status} words={word(one.status)} />],
            [t.contacts.email, <Seen text={one.email} />],
            [t.contacts.cellphone, <Maybe text={one.cellphone} />],
            [t.contacts.language, <Maybe text={one.languageCode && word(one.languageCode)} />],
            [t.parts.id, <code>{one.id}</code>],
            [t.parts.created, <Time at={one.createdAt} />],
            [t.contacts.changed, <Time at={one.updatedAt} />],
          ]}
        />
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
      {open === 'status' && one && (
        <Confirm
          title={`${act}: ${nameOf(one) || one.email}`}
          effect={<p>{one.status === 'active' ? t.users.disableEffect : t.users.enableEffect}</p>}
          act={act}
          dangerous={one.status === 'active'}
          run={turn}
          close={close}
          stale={() => <LookAgain close={close} reload={found.reload} />}
        />
      )}
    </Page>
  );
}
