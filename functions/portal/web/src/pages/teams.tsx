// The teams of agents. A new conversation can be assigned to a member of a team.

import { useRef, useState } from 'preact/hooks';

import { answer, client, value, workspace } from '../api';
import type { Schemas } from '../api';
import { rowsOf, useAction, useLoad, useRows } from '../load';
import { Confirm, Dialog } from '../parts/dialog';
import { Form, TextField } from '../parts/field';
import { Page } from '../parts/page';
import { ProblemBox } from '../parts/problem';
import { LookAgain, Stale } from '../parts/stale';
import { Bones, Facts, Table } from '../parts/table';
import { Seen } from '../parts/text';
import { Time } from '../parts/time';
import { address, go } from '../router';
import { may } from '../session';
import { t } from '../words';
import { nameOf } from './contacts';
import { usersOf } from './users';
import type { User } from './users';

const TEAMS = '/service/api/v1/workspaces/{workspaceId}/teams';
const TEAM = '/service/api/v1/workspaces/{workspaceId}/teams/{teamId}';

type Team = Schemas['Team'];
type Member = Team['members'][number];
interface Read {
  value: Team;
  etag: string | null;
  status: number;
}

const to = (page: string, id?: string) => address(workspace().workspaceId, page, { id });
const read = (teamId: string): Promise<Read> => answer(client.GET(TEAM, { params: { path: { ...workspace(), teamId } } }));
const change = (teamId: string, body: Schemas['TeamUpdate'], etag?: string | null): Promise<Read> =>
  answer(client.PATCH(TEAM, { params: { path: { ...workspace(), teamId }, header: etag ? { 'If-Match': etag } : {} }, body }));

export function Teams() {
  const list = useRows<Team>('teams', async (cursor) => {
    const { teams, cursor: next } = await value(client.GET(TEAMS, { params: { path: workspace(), query: { cursor } } }));
    return { rows: teams, cursor: next };
  });
  const [creating, setCreating] = useState(false);
  return (
    <Page
      title={t.teams.title}
      name={t.teams.title}
      intro={t.teams.intro}
      actions={
        may('users:write') && (
          <button type="button" class="main" onClick={() => setCreating(true)}>
            {t.teams.create}
          </button>
        )
      }
    >
      <Table
        label={t.teams.title}
        list={list}
        id={({ id }) => id}
        empty={<p>{t.teams.empty}</p>}
        columns={[
          {
            title: t.contacts.name,
            width: 4,
            cell: ({ id, name }) => (
              <a href={to('teams', id)}>
                <Seen text={name} />
              </a>
            ),
          },
          { title: t.teams.members, width: 2, cell: ({ members }) => members.length },
          { title: t.parts.created, width: 3, cell: ({ createdAt }) => <Time at={createdAt} /> },
        ]}
      />
      {creating && <Create close={() => setCreating(false)} />}
    </Page>
  );
}

function Create({ close }: { close: () => void }) {
  const [name, setName] = useState('');
  const [token] = useState(() => crypto.randomUUID());
  const action = useAction();
  const create = () =>
    action.run(async () => {
      const { id } = await value(client.POST(TEAMS, { params: { path: workspace(), header: { 'Idempotency-Key': token } }, body: { name } }));
      go(to('teams', id));
    });
  return (
    <Dialog title={t.teams.create} close={close}>
      <Form submit={create} act={t.teams.create} busy={action.busy} cancel={close}>
        {action.problem && <ProblemBox problem={action.problem} fields={['name']} />}
        <TextField label={t.contacts.name} name="name" hint={t.teams.nameHint} value={name} set={setName} problem={action.problem} required max={256} />
      </Form>
    </Dialog>
  );
}

export function OneTeam({ id }: { id: string }) {
  const found = useLoad(id, () => read(id));
  const [open, setOpen] = useState<'rename' | 'add' | 'delete' | null>(null);
  const [removed, setRemoved] = useState('');
  const members = useRef<HTMLHeadingElement>(null);
  const action = useAction();
  const close = () => setOpen(null);
  const team = found.value?.value;
  const writes = may('users:write');
  const drop = ({ id: user, email }: Member) =>
    action.run(async () => {
      found.set(await change(id, { members: { remove: [{ identifier: user, identifierType: 'ID' }] } }));
      setRemoved(t.teams.removed(email));
      // The button that was pressed is gone.
      members.current?.focus();
    });
  const remove = async () => {
    const header = found.value?.etag ? { 'If-Match': found.value.etag } : {};
    await value(client.DELETE(TEAM, { params: { path: { ...workspace(), teamId: id }, header } }));
    go(to('teams'));
  };
  return (
    <Page
      title={team ? <Seen text={team.name} /> : t.teams.one}
      name={t.teams.one}
      actions={
        team &&
        writes && (
          <>
            <button type="button" onClick={() => setOpen('rename')}>
              {t.keys.rename}
            </button>
            <button type="button" onClick={() => setOpen('delete')}>
              {t.webhooks.remove}
            </button>
          </>
        )
      }
    >
      {found.problem && <ProblemBox problem={found.problem} again={found.reload} />}
      {!team && !found.problem && <Bones lines={6} />}
      {team && (
        <>
          <Facts
            facts={[
              [t.parts.id, <code>{team.id}</code>],
              [t.parts.created, <Time at={team.createdAt} />],
            ]}
          />
          <div class="head sub">
            <h2 ref={members} tabIndex={-1}>
              {t.teams.members}
            </h2>
            {writes && (
              <span class="buttons">
                <button type="button" class="main" onClick={() => setOpen('add')}>
                  {t.teams.add}
                </button>
              </span>
            )}
          </div>
          <span role="status" class="unseen">
            {removed}
          </span>
          {action.problem && <ProblemBox problem={action.problem} />}
          <Table
            label={t.teams.members}
            list={rowsOf(found, team.members)}
            id={({ id }) => id}
            empty={<p>{t.teams.noMembers}</p>}
            columns={[
              {
                title: t.contacts.email,
                width: 6,
                cell: ({ id: user, email }) => (
                  <a href={to('users', user)}>
                    <Seen text={email} />
                  </a>
                ),
              },
              {
                title: '',
                width: 2,
                cell: (member) =>
                  writes && (
                    <button type="button" disabled={action.busy} onClick={() => drop(member)} aria-label={`${t.teams.remove}: ${member.email}`}>
                      {t.teams.remove}
                    </button>
                  ),
              },
            ]}
          />
        </>
      )}
      {open === 'rename' && found.value && <Rename read={found.value} close={close} reload={found.reload} renamed={found.set} />}
      {open === 'add' && team && <Add team={team} close={close} changed={found.set} />}
      {open === 'delete' && team && team.members.length > 0 && (
        <Dialog title={t.webhooks.remove} close={close}>
          <p>{t.teams.notEmpty(team.members.length)}</p>
          <div class="buttons">
            <button type="button" class="main" onClick={close}>
              {t.parts.close}
            </button>
          </div>
        </Dialog>
      )}
      {open === 'delete' && team?.members.length === 0 && (
        <Confirm
          title={t.teams.deleteTitle(team.name)}
          effect={<p>{t.teams.deleteEffect}</p>}
          act={t.webhooks.remove}
          dangerous
          run={remove}
          close={close}
          stale={() => <LookAgain close={close} reload={found.reload} />}
        />
      )}
    </Page>
  );
}

function Rename({ read, close, reload, renamed }: { read: Read; close: () => void; reload: () => void; renamed: (read: Read) => void }) {
  const [name, setName] = useState(read.value.name);
  const action = useAction();
  const rename = () =>
    action.run(async () => {
      renamed(await change(read.value.id, { name }, read.etag));
      close();
    });
  return (
    <Dialog title={t.keys.rename} close={close}>
      <Form submit={rename} act={t.keys.rename} busy={action.busy} cancel={close}>
        <Stale action={action} theirs={read.value.name} mine={name} load={reload} fields={['name']} />
        <TextField label={t.contacts.name} name="name" value={name} set={setName} problem={action.problem} required max={256} />
      </Form>
    </Dialog>
  );
}

/** Finds users and adds them, one after the other. Members are added beside those that somebody else adds. */
function Add({ team, close, changed }: { team: Team; close: () => void; changed: (read: Read) => void }) {
  const [typed, setTyped] = useState('');
  const [search, setSearch] = useState('');
  const list = useRows<User>(search, (cursor) => usersOf({ status: 'active', pageSize: 10, ...(search && { search }) }, cursor));
  const action = useAction();
  const add = (user: User) => action.run(async () => changed(await change(team.id, { members: { add: [{ identifier: user.id, identifierType: 'ID' }] } })));
  const isMember = (user: User) => team.members.some(({ id }) => id === user.id);
  return (
    <Dialog title={t.teams.add} close={close}>
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          setSearch(typed.trim());
        }}
      >
        <TextField label={t.users.search} name="search" type="search" value={typed} set={setTyped} />
        <button type="submit">{t.teams.find}</button>
      </form>
      {action.problem && <ProblemBox problem={action.problem} />}
      <Table
        label={t.users.title}
        list={list}
        id={({ id }) => id}
        empty={<p>{search ? t.parts.noMatch : t.users.empty}</p>}
        columns={[
          {
            title: t.users.one,
            width: 5,
            cell: (user) => (
              <>
                {nameOf(user) && <Seen text={nameOf(user)} />}
                <div class="soft small">
                  <Seen text={user.email} />
                </div>
              </>
            ),
          },
          {
            title: '',
            width: 2,
            // It keeps the focus after the press, so it is not disabled.
            cell: (user) => (
              <button type="button" aria-disabled={isMember(user)} onClick={() => !action.busy && !isMember(user) && add(user)} aria-label={`${isMember(user) ? t.teams.added : t.teams.addOne}: ${user.email}`}>
                {isMember(user) ? t.teams.added : t.teams.addOne}
              </button>
            ),
          },
        ]}
      />
      <div class="buttons">
        <button type="button" class="main" onClick={close}>
          {t.parts.done}
        </button>
      </div>
    </Dialog>
  );
}
