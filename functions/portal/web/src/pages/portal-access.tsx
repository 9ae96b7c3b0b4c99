import { useState } from 'preact/hooks';

import { client, value, workspace } from '../api';
import { useAction, useRows } from '../load';
import { Copy } from '../parts/copy';
import { Confirm, Dialog } from '../parts/dialog';
import { Choice, Form, TextField } from '../parts/field';
import { Badge, Page } from '../parts/page';
import { ProblemBox } from '../parts/problem';
import { Table } from '../parts/table';
import { Seen } from '../parts/text';
import { Time } from '../parts/time';
import { session } from '../session';
import { t } from '../words';
import { stateOf } from './api-keys';

const SESSIONS = '/service/api/v1/workspaces/{workspaceId}/sessions';
const SESSION = '/service/api/v1/workspaces/{workspaceId}/sessions/{sessionId}';
const LINKS = '/service/api/v1/workspaces/{workspaceId}/portal-links';

interface Begun {
  id: string;
  role: string | null;
  subject: string | null;
  createdAt: string;
  expiresAt: string | null;
  revokedAt: string | null;
}

export function PortalAccess() {
  const list = useRows<Begun>('sessions', async (cursor) => {
    const { sessions, cursor: next } = await value(client.GET(SESSIONS, { params: { path: workspace(), query: { cursor, pageSize: 100 } } }));
    return { rows: sessions, cursor: next };
  });
  const [ended, setEnded] = useState<Begun | null>(null);
  const [links, setLinks] = useState(false);
  const own = session()?.info.keyId;
  const end = async ({ id }: Begun) => {
    await value(client.DELETE(SESSION, { params: { path: { ...workspace(), sessionId: id } } }));
    list.reload();
  };
  return (
    <Page
      title={t.access.title}
      name={t.access.title}
      intro={t.access.intro}
      actions={
        <button type="button" class="main" onClick={() => setLinks(true)}>
          {t.access.link}
        </button>
      }
    >
      <Table
        label={t.access.sessions}
        list={list}
        id={({ id }) => id}
        empty={<p>{t.access.empty}</p>}
        columns={[
          {
            title: t.access.who,
            width: 3,
            cell: ({ id, subject }) => (
              <>
                {subject ? <Seen text={subject} /> : <code>{id.slice(0, 8)}</code>} {id === own && <span class="soft">({t.access.own})</span>}
              </>
            ),
          },
          { title: t.access.role, width: 2, cell: ({ role }) => (role ? t.roles[role as keyof typeof t.roles] ?? role : t.access.byKey) },
          { title: t.keys.state, width: 2, cell: (one) => <Badge state={stateOf(one)} words={t.access.states[stateOf(one)]} /> },
          { title: t.access.begun, width: 3, cell: ({ createdAt }) => <Time at={createdAt} /> },
          { title: t.access.ends, width: 3, cell: ({ expiresAt }) => <Time at={expiresAt} /> },
          {
            title: '',
            width: 2,
            cell: (one) =>
              stateOf(one) === 'live' && (
                <button type="button" onClick={() => setEnded(one)} aria-label={`${t.access.end}: ${one.subject ?? one.id}`}>
                  {t.access.end}
                </button>
              ),
          },
        ]}
      />
      {ended && (
        <Confirm
          title={t.access.endTitle}
          effect={<p>{ended.id === own ? t.access.endOwn : t.access.endEffect}</p>}
          act={t.access.end}
          dangerous
          run={() => end(ended)}
          close={() => setEnded(null)}
        />
      )}
      {links && <Link close={() => setLinks(false)} />}
    </Page>
  );
}

function Link({ close }: { close: () => void }) {
  const [role, setRole] = useState('VIEWER');
  const [subject, setSubject] = useState('');
  const [minutes, setMinutes] = useState('10');
  const [url, setUrl] = useState<string | null>(null);
  const action = useAction();
  const make = () =>
    action.run(async () => {
      const body = { role: role as 'VIEWER' | 'DEVELOPER' | 'ADMIN', confirm: true, linkSeconds: Number(minutes) * 60, ...(subject && { subject }) };
      setUrl((await value(client.POST(LINKS, { params: { path: workspace() }, body }))).url);
    });
  return (
    <Dialog title={t.access.link} close={close}>
      {url === null ? (
        <Form submit={make} act={t.access.make} busy={action.busy} cancel={close}>
          {action.problem && <ProblemBox problem={action.problem} fields={['role', 'subject', 'linkSeconds']} />}
          <Choice
            label={t.access.role}
            name="role"
            hint={t.access.roleHint[role as 'VIEWER' | 'DEVELOPER' | 'ADMIN']}
            value={role}
            set={setRole}
            problem={action.problem}
            choices={[
              ['VIEWER', t.roles.VIEWER],
              ['DEVELOPER', t.roles.DEVELOPER],
              ['ADMIN', t.roles.ADMIN],
            ]}
          />
          <TextField label={t.access.subject} name="subject" hint={t.access.subjectHint} value={subject} set={setSubject} problem={action.problem} max={254} />
          <Choice
            label={t.access.valid}
            name="linkSeconds"
            value={minutes}
            set={setMinutes}
            problem={action.problem}
            choices={['10', '30', '60'].map((one) => [one, t.access.minutes(one)])}
          />
        </Form>
      ) : (
        <>
          <p>
            <strong>{t.parts.once}</strong> {t.access.linkNote}
          </p>
          <p class="secret">
            <code tabIndex={0} aria-label={t.access.link}>
              {url}
            </code>
            <Copy text={url} label={`${t.parts.copy}: ${t.access.link}`} />
          </p>
          <div class="buttons">
            <button type="button" class="main" onClick={close}>
              {t.parts.done}
            </button>
          </div>
        </>
      )}
    </Dialog>
  );
}
