// Signing in: by a link, which works once, or by an API key that a person pastes. Both are exchanged for a session and kept nowhere.

import { useEffect, useState } from 'preact/hooks';

import { signIn } from './api';
import { useAction } from './load';
import { Form, TextField } from './parts/field';
import { ProblemBox } from './parts/problem';
import { address, parse, replace } from './router';
import { session, signedIn, whyEnded } from './session';
import { t } from './words';

export interface Link {
  workspaceId: string;
  token: string;
  /** Whether to wait for a press: a program that opens links in mails and chats must not spend it. */
  confirm: boolean;
}

/** Reads a link from the address and removes it from there and from the history, before anything else happens. */
export function takeLink(): Link | null {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?', 2);
  const [name, workspaceId, token, confirm] = path.split('/');
  if (name !== 'sign-in' || !workspaceId) return null;
  history.replaceState(null, '', address(workspaceId, ''));
  if (!token) return null;
  return { workspaceId, token, confirm: confirm === 'confirm' || new URLSearchParams(query).has('confirm') };
}

interface Props {
  link: Link | null;
  workspaceId: string | null;
  done: () => void;
}

export function SignIn({ link, workspaceId, done }: Props) {
  useEffect(() => {
    document.title = `${t.signIn.title} · ${t.app.name}`;
  });
  return link ? <ByLink link={link} done={done} /> : <ByKey key={workspaceId ?? ''} workspaceId={workspaceId} />;
}

function ByLink({ link, done }: { link: Link; done: () => void }) {
  const action = useAction();
  // A link of another workspace must not replace a session without a press.
  const other = session();
  const waits = link.confirm || (other !== null && other.workspaceId !== link.workspaceId);
  const begin = () =>
    action.run(async () => {
      const begun = await signIn(link.workspaceId, link.token);
      signedIn(begun);
      replace(address(link.workspaceId, ''));
      done();
    });
  useEffect(() => {
    if (!waits) void begin();
  }, []);
  return (
    <>
      <h1>{t.signIn.title}</h1>
      {action.problem ? (
        <>
          <ProblemBox problem={action.problem}>{action.problem.status === 403 && <p>{t.signIn.spent}</p>}</ProblemBox>
          <div class="buttons">
            {action.problem.status !== 403 && (
              <button type="button" class="main" onClick={() => void begin()}>
                {t.parts.again}
              </button>
            )}
            <button type="button" onClick={done}>
              {t.signIn.byKey}
            </button>
          </div>
        </>
      ) : waits && !action.busy ? (
        <>
          <p>{other ? t.signIn.replaces(other.info.workspace.name) : t.signIn.press}</p>
          <div class="buttons">
            <button type="button" class="main" onClick={() => void begin()}>
              {t.signIn.act}
            </button>
          </div>
        </>
      ) : (
        <p role="status">{t.signIn.busy}</p>
      )}
    </>
  );
}

function ByKey({ workspaceId }: { workspaceId: string | null }) {
  const [id, setId] = useState(workspaceId ?? '');
  const [key, setKey] = useState('');
  const action = useAction();
  const ended = whyEnded();
  const begin = () =>
    action.run(async () => {
      const begun = await signIn(id.trim(), key.trim());
      signedIn(begun);
      if (parse(location.hash).workspaceId !== begun.workspaceId) replace(address(begun.workspaceId, ''));
    });
  return (
    <>
      <h1>{t.signIn.title}</h1>
      {ended && !action.problem && <p role="status">{ended === 'ended' ? t.signIn.ended : t.signIn.signedOut}</p>}
      <p class="soft">{t.signIn.intro}</p>
      <Form submit={begin} act={t.signIn.act} busy={action.busy}>
        {action.problem && <ProblemBox problem={action.problem} />}
        <TextField label={t.signIn.workspace} name="workspaceId" value={id} set={setId} required />
        <TextField label={t.signIn.key} name="apiKey" type="password" hint={t.signIn.keyHint} value={key} set={setKey} required />
      </Form>
    </>
  );
}
