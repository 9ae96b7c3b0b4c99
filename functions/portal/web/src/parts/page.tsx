// What all pages have: a title, actions, and the request as a command.

import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

import { callsOfPage, curl } from '../api';
import { t } from '../words';
import { Copy } from './copy';
import { Dialog } from './dialog';

interface Props {
  title: ComponentChildren;
  name: string;
  intro?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
}

export function Page({ title, name, intro, actions, children }: Props) {
  const [calls, setCalls] = useState(false);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    heading.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, []);
  useEffect(() => {
    document.title = `${name} · ${t.app.name}`;
  });
  return (
    <>
      <div class="head">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        <div class="buttons">
          {actions}
          <button type="button" onClick={() => setCalls(true)}>
            {t.parts.call}
          </button>
        </div>
      </div>
      {intro && <p class="intro soft">{intro}</p>}
      {children}
      {calls && <Calls close={() => setCalls(false)} />}
    </>
  );
}

function Calls({ close }: { close: () => void }) {
  return (
    <Dialog title={t.parts.call} close={close}>
      <p class="soft">
        {t.parts.callNote} <a href="reference.html">{t.app.reference}</a>
      </p>
      {callsOfPage().map((call, index) => (
        <div key={index} class="command">
          <pre tabIndex={0} role="region" aria-label={`${t.parts.call} ${index + 1}: ${call.method}`}>
            {curl(call)}
          </pre>
          <Copy text={curl(call)} label={`${t.parts.copy}: ${call.method} ${call.url}`} />
        </div>
      ))}
      <div class="buttons">
        <button type="button" class="main" onClick={close}>
          {t.parts.close}
        </button>
      </div>
    </Dialog>
  );
}

const TONES: Record<string, string> = {
  ENABLED: 'good',
  DELIVERED: 'good',
  SENT: 'good',
  READ: 'good',
  ACTIVE: 'good',
  active: 'good',
  APPROVED: 'good',
  RECEIVED: 'good',
  live: 'good',
  DISABLED: 'bad',
  FAILED: 'bad',
  EXHAUSTED: 'bad',
  REJECTED: 'bad',
  PAUSED: 'bad',
  BLOCKED: 'bad',
  CONNECTED: 'good',
  GREEN: 'good',
  YELLOW: 'warn',
  RED: 'bad',
  RESTRICTED: 'bad',
  VIOLATION: 'bad',
  DELETED: 'bad',
  OFFBOARDED: 'bad',
  UNKNOWN: 'warn',
  revoked: 'bad',
  expired: 'warn',
};

/** A state, in words and colour. */
export function Badge({ state, words }: { state: string; words: string }) {
  return <span class={`badge ${TONES[state] ?? ''}`}>{words}</span>;
}
