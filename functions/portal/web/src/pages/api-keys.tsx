import { useState } from 'preact/hooks';

import { answer, client, value, workspace } from '../api';
import type { Schemas } from '../api';
import { useAction, useLoad, useRows } from '../load';
import { Secret } from '../parts/copy';
import { Confirm, Dialog } from '../parts/dialog';
import { Checks, Form, Moment, TextField } from '../parts/field';
import { Badge, Page } from '../parts/page';
import { ProblemBox } from '../parts/problem';
import { Stale } from '../parts/stale';
import { Bones, Table } from '../parts/table';
import { Seen } from '../parts/text';
import { Time } from '../parts/time';
import { may, session } from '../session';
import { t } from '../words';

type Key = Schemas['ApiKey'];
const KEYS = '/service/api/v1/workspaces/{workspaceId}/api-keys';
const KEY = '/service/api/v1/workspaces/{workspaceId}/api-keys/{keyId}';

export function stateOf({ revokedAt, expiresAt }: { revokedAt: string | null; expiresAt: string | null }): 'live' | 'revoked' | 'expired' {
  if (revokedAt) return 'revoked';
  return expiresAt && new Date(expiresAt) <= new Date() ? 'expired' : 'live';
}

type Open = { what: 'create' } | { what: 'created'; secret: string | null; name: string } | { what: 'rename' | 'revoke'; key: Key };

export function ApiKeys() {
  const list = useRows<Key>('keys', async (cursor) => {
    const { apiKeys, cursor: next } = await value(client.GET(KEYS, { params: { path: workspace(), query: { cursor } } }));
    return { rows: apiKeys, cursor: next };
  });
  const [open, setOpen] = useState<Open | null>(null);
  const close = () => setOpen(null);
  const writes = may('keys:write');
  const revoke = async (key: Key) => {
    await value(client.DELETE(KEY, { params: { path: { ...workspace(), keyId: key.id } } }));
    list.reload();
  };
  return (
    <Page
      title={t.keys.title}
      name={t.keys.title}
      intro={t.keys.intro}
      actions={
        writes && (
          <button type="button" class="main" onClick={() => setOpen({ what: 'create' })}>
            {t.keys.create}
          </button>
        )
      }
    >
      <Table
        label={t.keys.title}
        list={list}
        id={({ id }) => id}
        empty={<p>{t.keys.empty}</p>}
        columns={[
          { title: t.keys.name, width: 4, cell: ({ name }) => <Seen text={name} /> },
          { title: t.keys.state, width: 2, cell: (key) => <Badge state={stateOf(key)} words={t.keys.states[stateOf(key)]} /> },
          { title: t.keys.scopes, width: 4, cell: ({ scopes }) => <Scopes scopes={scopes} /> },
          { title: t.keys.rate, width: 2, cell: ({ rate, burst }) => t.keys.rateOf(rate, burst) },
          { title: t.keys.used, width: 3, cell: ({ lastUsedAt }) => <Time at={lastUsedAt} none={t.keys.never} /> },
          { title: t.keys.expires, width: 3, cell: ({ expiresAt }) => <Time at={expiresAt} none={t.keys.noExpiry} /> },
          {
            title: '',
            width: 4,
            cell: (key) =>
              writes &&
              stateOf(key) === 'live' && (
                <span class="buttons">
                  <button type="button" onClick={() => setOpen({ what: 'rename', key })} aria-label={`${t.keys.rename}: ${key.name}`}>
                    {t.keys.rename}
                  </button>
                  <button type="button" onClick={() => setOpen({ what: 'revoke', key })} aria-label={`${t.keys.revoke}: ${key.name}`}>
                    {t.keys.revoke}
                  </button>
                </span>
              ),
          },
        ]}
      />
      {open?.what === 'create' && (
        <Create
          close={close}
          created={(secret, name) => {
            setOpen({ what: 'created', secret, name });
            list.reload();
          }}
        />
      )}
      {open?.what === 'created' && <Secret title={t.keys.created(open.name)} name={t.keys.key} secret={open.secret} note={t.keys.secretNote} close={close} />}
      {open?.what === 'rename' && <Rename id={open.key.id} close={close} renamed={list.reload} />}
      {open?.what === 'revoke' && (
        <Confirm
          title={t.keys.revokeTitle(open.key.name)}
          effect={<p>{t.keys.revokeEffect}</p>}
          act={t.keys.revoke}
          dangerous
          run={() => revoke(open.key)}
          close={close}
        />
      )}
    </Page>
  );
}

export function Scopes({ scopes }: { scopes: readonly string[] }) {
  if (scopes.length <= 3) return <code>{scopes.join(' ')}</code>;
  return (
    <details>
      <summary>{t.keys.scopesOf(scopes.length)}</summary>
      <code>{scopes.join(' ')}</code>
    </details>
  );
}

/** The scopes that a key made here can have: those of the session, each by its name. */
function grantable(): string[] {
  return (session()?.info.scopes ?? []).filter((scope) => scope !== '*').sort();
}

function Create({ close, created }: { close: () => void; created: (secret: string | null, name: string) => void }) {
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<string[]>([]);
  const [rate, setRate] = useState('');
  const [expiresAt, setExpiresAt] = useState('');
  const [token] = useState(() => crypto.randomUUID());
  const action = useAction();
  const create = () =>
    action.run(async () => {
      const body = {
        name,
        scopes: scopes as Schemas['Scope'][],
        ...(rate && { rate: Number(rate) }),
        ...(expiresAt && { expiresAt }),
      };
      const made = await value(client.POST(KEYS, { params: { path: workspace(), header: { 'Idempotency-Key': token } }, body }));
      created(made.apiKey, made.name);
    });
  return (
    <Dialog title={t.keys.create} close={close}>
      <Form submit={create} act={t.keys.create} busy={action.busy} cancel={close}>
        {action.problem && <ProblemBox problem={action.problem} fields={['name', 'scopes', 'rate', 'expiresAt']} />}
        <TextField label={t.keys.name} name="name" hint={t.keys.nameHint} value={name} set={setName} problem={action.problem} required max={100} />
        <Checks label={t.keys.scopes} name="scopes" hint={t.keys.scopesHint} value={scopes} set={setScopes} problem={action.problem} choices={grantable().map((scope) => [scope, scope])} />
        <TextField label={t.keys.rateField} name="rate" hint={t.keys.rateHint} value={rate} set={setRate} problem={action.problem} type="number" />
        <Moment label={t.keys.expiresField} name="expiresAt" hint={t.keys.expiresHint} value={expiresAt} set={setExpiresAt} problem={action.problem} />
      </Form>
    </Dialog>
  );
}

/** Reads the key first, so that a change by somebody else meanwhile is noticed. */
function Rename({ id, close, renamed }: { id: string; close: () => void; renamed: () => void }) {
  const path = { ...workspace(), keyId: id };
  const key = useLoad(id, () => answer(client.GET(KEY, { params: { path } })));
  const [name, setName] = useState<string | null>(null);
  const action = useAction();
  const now = key.value?.value;
  const rename = () =>
    action.run(async () => {
      const header = key.value?.etag ? { 'If-Match': key.value.etag } : {};
      await value(client.PATCH(KEY, { params: { path, header }, body: { name: name ?? now?.name ?? '' } }));
      renamed();
      close();
    });
  return (
    <Dialog title={t.keys.rename} close={close}>
      {key.problem && <ProblemBox problem={key.problem} again={key.reload} />}
      {!now && !key.problem && <Bones lines={3} />}
      {now && (
        <Form submit={rename} act={t.keys.rename} busy={action.busy} cancel={close}>
          <Stale action={action} theirs={now.name} mine={name ?? now.name} load={key.reload} fields={['name']} />
          <TextField label={t.keys.name} name="name" value={name ?? now.name} set={setName} problem={action.problem} required max={100} />
        </Form>
      )}
    </Dialog>
  );
}
