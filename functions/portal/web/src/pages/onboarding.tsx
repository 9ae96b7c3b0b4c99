// The templates that open conversations, in their order.

import { useLayoutEffect, useRef, useState } from 'preact/hooks';

import { answer, client, value, workspace } from '../api';
import type { Problem, Schemas } from '../api';
import { useAction, useLoad } from '../load';
import { Choice } from '../parts/field';
import { Page } from '../parts/page';
import { ProblemBox } from '../parts/problem';
import { Stale } from '../parts/stale';
import { Bones } from '../parts/table';
import { Seen } from '../parts/text';
import { address } from '../router';
import { may } from '../session';
import { t, word } from '../words';

const ONBOARDING = '/service/api/v1/workspaces/{workspaceId}/settings/onboarding';
const TEMPLATES = '/service/api/v1/workspaces/{workspaceId}/templates';
const LONGEST = 10;

type Template = Schemas['Template'];
type Draft = Pick<Schemas['Onboarding'], 'override' | 'sequence'>;
const OVERRIDES: Draft['override'][] = ['ENTIRE', 'FIRST_ONLY'];

export async function allTemplates(): Promise<Template[]> {
  const all: Template[] = [];
  let cursor: string | undefined;
  do {
    const page = await value(client.GET(TEMPLATES, { params: { path: workspace(), query: { pageSize: 100, cursor } } }));
    all.push(...page.templates);
    cursor = page.cursor ?? undefined;
  } while (cursor);
  return all;
}

/** A template that opens a conversation by itself: no request has to give a value, and some account can send it. */
export const opens = ({ parameters, statuses }: Template) => !parameters.some(({ required }) => required) && statuses.some(({ sendable }) => sendable);

export function Onboarding() {
  const found = useLoad('onboarding', async () => {
    const [read, templates] = await Promise.all([answer(client.GET(ONBOARDING, { params: { path: workspace() } })), may('templates:read') ? allTemplates() : []]);
    return { ...read, templates };
  });
  return (
    <Page title={t.onboarding.title} name={t.onboarding.title} intro={t.onboarding.intro}>
      {found.problem && !found.value && <ProblemBox problem={found.problem} again={found.reload} />}
      {!found.value && !found.problem && <Bones lines={5} />}
      {found.value && <Sequence read={found.value} set={found.set} reload={found.reload} />}
    </Page>
  );
}

interface Read {
  value: Draft;
  etag: string | null;
  status: number;
  templates: Template[];
}

function Sequence({ read, set, reload }: { read: Read; set: (read: Read) => void; reload: () => void }) {
  const now = read.value;
  const [draft, setDraft] = useState<Draft | null>(null);
  const [says, setSays] = useState('');
  const [adding, setAdding] = useState('');
  const action = useAction();
  const list = useRef<HTMLOListElement>(null);
  // Where the focus goes after the list was drawn: to the same button of the moved template, or its neighbour at an end of the list.
  const focus = useRef<{ at: number; button: number } | null>(null);
  useLayoutEffect(() => {
    if (!focus.current) return;
    const { at, button } = focus.current;
    focus.current = null;
    const buttons = [...(list.current?.children[at]?.querySelectorAll('button') ?? [])];
    (buttons[button]?.disabled ? buttons.find(({ disabled }) => !disabled) : buttons[button])?.focus();
  });
  const { override, sequence } = draft ?? now;
  const writes = may('settings:write');
  const named = (id: string) => read.templates.find((template) => template.id === id)?.name ?? id;
  const change = (next: string[], words: string) => {
    setDraft({ override, sequence: next });
    setSays(words);
  };
  const move = (at: number, by: 1 | -1) => {
    const next = [...sequence];
    const [moved = ''] = next.splice(at, 1);
    next.splice(at + by, 0, moved);
    focus.current = { at: at + by, button: by === -1 ? 0 : 1 };
    change(next, t.onboarding.moved(named(moved), at + by + 1, next.length));
  };
  const drop = (at: number) => {
    const next = sequence.filter((_, other) => other !== at);
    if (next.length) focus.current = { at: Math.min(at, next.length - 1), button: 2 };
    change(next, t.onboarding.removed(named(sequence[at] ?? '')));
  };
  const add = () => {
    change([...sequence, adding], t.onboarding.moved(named(adding), sequence.length + 1, sequence.length + 1));
    setAdding('');
  };
  const discard = () => {
    setDraft(null);
    setSays('');
    action.clear();
  };
  const save = () =>
    action.run(async () => {
      setSays('');
      const header = read.etag ? { 'If-Match': read.etag } : {};
      const saved = await answer(client.PUT(ONBOARDING, { params: { path: workspace(), header }, body: { override, sequence } }));
      set({ ...saved, templates: read.templates });
      setDraft(null);
      setSays(t.onboarding.saved);
    });
  const shown = (some: Draft) => `${t.onboarding.overrides[some.override]}: ${some.sequence.map(named).join(', ') || t.onboarding.none}`;
  const choices = read.templates.filter((template) => opens(template) && !sequence.includes(template.id));
  const same = override === now.override && sequence.join() === now.sequence.join();
  return (
    <>
      <Stale action={action} theirs={shown(now)} mine={shown({ override, sequence })} load={reload} fields={[]}>
        <Refused problem={action.problem} named={named} />
      </Stale>
      {sequence.length === 0 && <div class="empty">{t.onboarding.empty}</div>}
      <ol class="sequence" ref={list} aria-label={t.onboarding.title}>
        {sequence.map((id, at) => (
          <li key={`${id} ${sequence.slice(0, at).filter((other) => other === id).length}`}>
            <Step id={id} template={read.templates.find((template) => template.id === id)} />
            {writes && (
              <span class="buttons">
                <button type="button" disabled={at === 0} onClick={() => move(at, -1)} aria-label={`${t.onboarding.up}: ${named(id)}`}>
                  <span aria-hidden="true">↑</span> {t.onboarding.up}
                </button>
                <button type="button" disabled={at === sequence.length - 1} onClick={() => move(at, 1)} aria-label={`${t.onboarding.down}: ${named(id)}`}>
                  <span aria-hidden="true">↓</span> {t.onboarding.down}
                </button>
                <button type="button" onClick={() => drop(at)} aria-label={`${t.teams.remove}: ${named(id)}`}>
                  {t.teams.remove}
                </button>
              </span>
            )}
          </li>
        ))}
      </ol>
      <div class="inset">
        {writes && (
          <>
            <div class="filters">
              <Choice
                label={t.onboarding.add}
                name="add"
                value={adding}
                set={setAdding}
                choices={[['', '–'], ...choices.map(({ id, name, language }): [string, string] => [id, `${name} (${language})`])]}
              />
              <button type="button" disabled={!adding || sequence.length === LONGEST} onClick={add}>
                {t.teams.addOne}
              </button>
            </div>
            <p class="soft small">{sequence.length === LONGEST ? t.onboarding.full(LONGEST) : t.onboarding.addHint}</p>
          </>
        )}
        <Choice
          label={t.onboarding.override}
          name="override"
          hint={t.onboarding.overrideHint}
          value={override}
          set={(chosen) => {
            setDraft({ override: chosen as Draft['override'], sequence });
            setSays('');
          }}
          choices={OVERRIDES.map((one) => [one, t.onboarding.overrides[one]])}
          disabled={!writes}
        />
        {writes && (
          <>
            <p class="buttons">
              <button type="button" class="main" disabled={same || action.busy} onClick={save}>
                {t.webhooks.save}
              </button>
              <button type="button" disabled={same || action.busy} onClick={discard}>
                {t.onboarding.discard}
              </button>
              <span class="soft">{same ? '' : t.onboarding.unsaved}</span>
            </p>
            <p role="status">{says}</p>
          </>
        )}
      </div>
    </>
  );
}

function Step({ id, template }: { id: string; template: Template | undefined }) {
  if (!template) return <code>{id}</code>;
  const paused = !template.statuses.some(({ sendable }) => sendable);
  return (
    <span>
      <a href={address(workspace().workspaceId, 'templates', { id })}>
        <Seen text={template.name} />
      </a>{' '}
      <span class="soft">{template.language}</span> {paused && <span class="badge bad">{t.templates.notSendable}</span>}
      {template.body && (
        <div class="soft small">
          <Seen text={template.body} />
        </div>
      )}
    </span>
  );
}

/** Which template is at fault, and on which line. */
function Refused({ problem, named }: { problem: Problem | null; named: (id: string) => string }) {
  const [template, line, status] = ['templateId', 'providerChannelId', 'status'].map((name) => problem?.extra[name]);
  if (typeof template !== 'string') return null;
  return (
    <p>
      <strong>
        <Seen text={named(template)} />
      </strong>
      {typeof status === 'string' && ` · ${word(status)}`}
      {typeof line === 'string' && ` · ${t.lines.one} ${line}`}
    </p>
  );
}
