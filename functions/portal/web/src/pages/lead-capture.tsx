// How landing pages send leads, and what to paste into them.

import { useState } from 'preact/hooks';

import { answer, client, workspace } from '../api';
import type { Answer, Body, Schemas } from '../api';
import { useAction, useLoad } from '../load';
import { Copy } from '../parts/copy';
import { Confirm, Dialog } from '../parts/dialog';
import { Check, Choice, Form, LinesField, TextField, linesOf } from '../parts/field';
import { Page } from '../parts/page';
import { ProblemBox } from '../parts/problem';
import { LookAgain, Stale } from '../parts/stale';
import { Bones, Facts } from '../parts/table';
import { Maybe } from '../parts/text';
import { may } from '../session';
import { t } from '../words';
import { allBrands } from './brands';
import { allTemplates, opens } from './onboarding';

const CAPTURE = '/service/api/v1/workspaces/{workspaceId}/settings/capture';
const KEY = `${CAPTURE}/rotate-key` as const;

/** What docs/lead-capture.md tells pages to have (build.mjs). */
declare const SNIPPET: string;

type Settings = Schemas['LeadCapture'];
interface Read extends Answer<Settings> {
  brands: Schemas['Brand'][];
  templates: Schemas['Template'][];
}

const preconditions = ({ etag }: Read) => ({ path: workspace(), header: etag ? { 'If-Match': etag } : {} });

function snippetOf({ captureUrl, scriptUrl, captureKey }: Settings): string {
  const given = {
    'https://capture.example.com/api/v1/leadscout/scripts/lead-capture-2.js': scriptUrl,
    'https://capture.example.com': captureUrl,
    YOUR_WORKSPACE_ID: workspace().workspaceId,
    YOUR_CAPTURE_KEY: captureKey ?? '',
  };
  return Object.entries(given).reduce((text, [place, own]) => text.replaceAll(place, own), SNIPPET);
}

export function LeadCapture() {
  const found = useLoad('capture', async (): Promise<Read> => {
    const [read, brands, templates] = await Promise.all([
      answer(client.GET(CAPTURE, { params: { path: workspace() } })),
      allBrands(),
      may('templates:read') ? allTemplates() : [],
    ]);
    return { ...read, brands, templates };
  });
  const [open, setOpen] = useState<'edit' | 'rotate' | null>(null);
  const close = () => setOpen(null);
  const read = found.value;
  const rotate = async () => {
    if (read) found.set({ ...read, ...(await answer(client.POST(KEY, { params: preconditions(read) }))) });
  };
  return (
    <Page
      title={t.capture.title}
      name={t.capture.title}
      intro={t.capture.intro}
      actions={
        read &&
        may('settings:write') && (
          <>
            <button type="button" onClick={() => setOpen('edit')}>
              {t.webhooks.edit}
            </button>
            {read.value.captureKey && (
              <button type="button" onClick={() => setOpen('rotate')}>
                {t.capture.rotate}
              </button>
            )}
          </>
        )
      }
    >
      {found.problem && <ProblemBox problem={found.problem} again={found.reload} />}
      {!read && !found.problem && <Bones lines={10} />}
      {read && <About read={read} />}
      {open === 'edit' && read && <Edit read={read} close={close} reload={found.reload} saved={found.set} />}
      {open === 'rotate' && (
        <Confirm
          title={t.capture.rotate}
          effect={<p>{t.capture.rotateEffect}</p>}
          act={t.capture.rotate}
          dangerous
          run={rotate}
          close={close}
          stale={() => <LookAgain close={close} reload={found.reload} />}
        />
      )}
    </Page>
  );
}

const brandOf = ({ brands }: Read, id: string) => brands.find((brand) => brand.id === id)?.name ?? id;
const templateOf = ({ templates }: Read, id: string) => templates.find((template) => template.id === id)?.name ?? id;

function About({ read }: { read: Read }) {
  const now = read.value;
  const snippet = snippetOf(now);
  return (
    <>
      <Facts
        facts={[
          [t.capture.enabled, now.enabled ? t.parts.yes : t.parts.no],
          [t.capture.key, <>{now.captureKey ? <code>{now.captureKey}</code> : <Maybe text={null} />}</>],
          [t.capture.origins, <Maybe text={now.origins.join(', ')} />],
          [t.capture.brand, now.brandId ? <Maybe text={brandOf(read, now.brandId)} /> : t.capture.noBrand],
          [t.capture.template, <Maybe text={now.leadTemplateId && templateOf(read, now.leadTemplateId)} />],
          ...(now.unreachableBrands.length ? [[t.capture.unreachable, <Maybe text={now.unreachableBrands.map((id) => brandOf(read, id)).join(', ')} />] as [string, preact.ComponentChildren]] : []),
          [t.capture.secret, now.hasSecret ? t.parts.yes : t.parts.no],
          [t.capture.threshold, now.threshold],
          [t.capture.dailyCap, now.dailyCap ?? t.capture.noLimit],
          [t.capture.phoneCap, now.phoneCap ?? t.capture.noLimit],
          [t.capture.rate, now.rate],
        ]}
      />
      {now.captureKey && (
        <section>
          <div class="head sub">
            <h2>{t.capture.snippet}</h2>
            <Copy text={snippet} label={`${t.parts.copy}: ${t.capture.snippet}`} />
          </div>
          <p class="soft">{t.capture.snippetHint}</p>
          <pre class="body" tabIndex={0} role="region" aria-label={t.capture.snippet}>
            {snippet}
          </pre>
        </section>
      )}
    </>
  );
}

const draftOf = (now: Settings) => ({
  enabled: now.enabled,
  origins: now.origins.join('\n'),
  brandId: now.brandId ?? '',
  leadTemplateId: now.leadTemplateId ?? '',
  threshold: String(now.threshold),
  dailyCap: now.dailyCap === null ? '' : String(now.dailyCap),
  phoneCap: now.phoneCap === null ? '' : String(now.phoneCap),
  captchaSecret: '',
});
type Draft = ReturnType<typeof draftOf>;

/** Asking for what is enabled already would be refused while the template is paused. */
function bodyOf(draft: Draft, now: Settings): Body<typeof CAPTURE, 'patch'> {
  const number = (text: string) => (text.trim() === '' ? null : Number(text));
  return {
    ...(draft.enabled !== now.enabled && { enabled: draft.enabled }),
    origins: linesOf(draft.origins),
    brandId: draft.brandId || null,
    leadTemplateId: draft.leadTemplateId || null,
    threshold: Number(draft.threshold),
    dailyCap: number(draft.dailyCap),
    phoneCap: number(draft.phoneCap),
    ...(draft.captchaSecret && { captchaSecret: draft.captchaSecret }),
  };
}

function Edit({ read, close, reload, saved }: { read: Read; close: () => void; reload: () => void; saved: (read: Read) => void }) {
  const now = read.value;
  const [draft, setDraft] = useState(() => draftOf(now));
  const action = useAction();
  const { problem } = action;
  const change = (name: keyof Draft) => (given: string) => setDraft({ ...draft, [name]: given });
  const save = () =>
    action.run(async () => {
      saved({ ...read, ...(await answer(client.PATCH(CAPTURE, { params: preconditions(read), body: bodyOf(draft, now) }))) });
      close();
    });
  const shown = (some: Draft) =>
    [some.enabled ? t.capture.enabled : t.parts.no, linesOf(some.origins).join(', '), brandOf(read, some.brandId), templateOf(read, some.leadTemplateId), some.threshold, some.dailyCap, some.phoneCap].join(' · ');
  const templates = read.templates.filter((template) => opens(template) || template.id === now.leadTemplateId);
  return (
    <Dialog title={t.capture.title} close={close}>
      <Form submit={save} act={t.webhooks.save} busy={action.busy} cancel={close}>
        <Stale action={action} theirs={shown(draftOf(now))} mine={shown(draft)} load={reload} fields={Object.keys(draft)} />
        <Check label={t.capture.enabled} value={draft.enabled} set={(enabled) => setDraft({ ...draft, enabled })} />
        <LinesField label={t.capture.origins} name="origins" hint={t.capture.originsHint} value={draft.origins} set={change('origins')} problem={problem} />
        <Choice
          label={t.capture.template}
          name="leadTemplateId"
          hint={t.onboarding.addHint}
          value={draft.leadTemplateId}
          set={change('leadTemplateId')}
          problem={problem}
          choices={[['', '–'], ...templates.map(({ id, name, language }): [string, string] => [id, `${name} (${language})`])]}
        />
        <Choice
          label={t.capture.brand}
          name="brandId"
          value={draft.brandId}
          set={change('brandId')}
          problem={problem}
          choices={[['', t.capture.noBrand], ...read.brands.map(({ id, name }): [string, string] => [id, name])]}
        />
        <TextField label={t.capture.secret} name="captchaSecret" type="password" hint={now.hasSecret ? t.capture.secretHint : undefined} value={draft.captchaSecret} set={change('captchaSecret')} problem={problem} />
        <TextField label={t.capture.threshold} name="threshold" hint={t.capture.thresholdHint} value={draft.threshold} set={change('threshold')} problem={problem} required />
        <TextField label={t.capture.dailyCap} name="dailyCap" hint={t.capture.capHint} value={draft.dailyCap} set={change('dailyCap')} problem={problem} />
        <TextField label={t.capture.phoneCap} name="phoneCap" hint={t.capture.capHint} value={draft.phoneCap} set={change('phoneCap')} problem={problem} />
      </Form>
    </Dialog>
  );
}
