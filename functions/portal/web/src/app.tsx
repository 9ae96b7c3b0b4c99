import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

import { beginPage, signOut } from './api';
import { useAction } from './load';
import { Page } from './parts/page';
import { ProblemBox } from './parts/problem';
import { Seen } from './parts/text';
import { offered, pageOf, settings } from './pages';
import { chooseTheme, clock, rememberClock, theme } from './preferences';
import { address, go, useRoute } from './router';
import type { Route } from './router';
import { changes, forget, may, session } from './session';
import type { Session } from './session';
import { SignIn } from './sign-in';
import type { Link } from './sign-in';
import { speak, spoken, t } from './words';

/** The whole page. `link` is what the address said when the page was opened. */
export function App({ link }: { link: Link | null }) {
  const [now, setNow] = useState(session);
  const [, setTurn] = useState(0);
  const route = useRoute();
  const redraw = () => setTurn((old) => old + 1);
  useEffect(() => {
    const look = () => setNow(session());
    changes.addEventListener('change', look);
    return () => changes.removeEventListener('change', look);
  }, []);
  useEffect(() => {
    const expiresAt = now?.info.expiresAt;
    if (!expiresAt) return;
    // A timer holds 24 days at most. No session lives longer than a day.
    const timer = setTimeout(() => forget('ended'), Math.min(Math.max(new Date(expiresAt).getTime() - Date.now(), 0), 86_400_000));
    return () => clearTimeout(timer);
  }, [now]);
  const [opened, setOpened] = useState(link);
  if (!now || opened) {
    return (
      <div class="alone">
        <header>
          <Settings redraw={redraw} />
        </header>
        <main>
          <SignIn link={opened} workspaceId={opened?.workspaceId ?? route.workspaceId} done={() => setOpened(null)} />
        </main>
      </div>
    );
  }
  return <Shell session={now} route={route} redraw={redraw} />;
}

function Shell({ session: now, route, redraw }: { session: Session; route: Route; redraw: () => void }) {
  const [menu, setMenu] = useState(false);
  const out = useAction();
  const pages = offered();
  const home = address(now.workspaceId, pages[0]?.path ?? '');
  const here = `${route.workspaceId}/${route.page}/${route.id}`;
  const before = useRef('');
  if (before.current !== here) {
    before.current = here;
    beginPage();
  }
  useEffect(() => setMenu(false), [here]);
  useEffect(() => {
    if (!route.workspaceId || !route.page) location.replace(home);
  }, [route]);
  const role = now.info.role;
  const shown = pageOf(route.page);
  return (
    <div class="shell">
      <a
        class="skip"
        href="#content"
        onClick={(event) => {
          event.preventDefault();
          document.querySelector<HTMLElement>('main h1')?.focus();
        }}
      >
        {t.app.skip}
      </a>
      <header class={menu ? 'open' : ''}>
        <p class="who">
          <strong>
            <Seen text={now.info.workspace.name} />
          </strong>
          <span class="badge">{role ? (t.roles[role as keyof typeof t.roles] ?? role) : t.app.noRole}</span>
          {now.info.subject && (
            <span class="soft">
              <Seen text={now.info.subject} />
            </span>
          )}
        </p>
        <button type="button" class="menu" aria-expanded={menu} aria-controls="menu" onClick={() => setMenu(!menu)}>
          {t.app.menu}
        </button>
        <Settings redraw={redraw}>
          <button type="button" disabled={out.busy} onClick={() => out.run(signOut)}>
            {t.app.signOut}
          </button>
        </Settings>
      </header>
      <nav id="menu" aria-label={t.app.pages} class={menu ? 'open' : ''}>
        <ul>
          {pages.map(({ path, name, setting }) => (
            <li key={path}>
              <a href={address(now.workspaceId, path)} aria-current={route.page === path ? 'page' : setting && shown?.setting ? 'true' : undefined}>
                {setting ? t.app.settingsOf : name?.()}
              </a>
            </li>
          ))}
        </ul>
        <ul>
          <li>
            <a href="reference.html">{t.app.reference}</a>
          </li>
          {now.info.returnUrl && (
            <li>
              <a href={now.info.returnUrl} target="_top" rel="noreferrer">
                {t.app.back}
              </a>
            </li>
          )}
        </ul>
      </nav>
      <main id="content">
        {shown?.setting && (
          <nav class="parts" aria-label={t.app.settingsOf}>
            <ul>
              {settings().map(({ path, name }) => (
                <li key={path}>
                  <a href={address(now.workspaceId, path)} aria-current={route.page === path ? 'page' : undefined}>
                    {name?.()}
                  </a>
                </li>
              ))}
            </ul>
          </nav>
        )}
        {out.problem ? <ProblemBox problem={out.problem} /> : <View key={`${here} ${spoken}`} session={now} route={route} />}
      </main>
    </div>
  );
}

function View({ session: now, route }: { session: Session; route: Route }) {
  if (route.workspaceId && route.workspaceId !== now.workspaceId) return <Elsewhere session={now} />;
  const page = pageOf(route.page);
  const View = page?.view;
  const One = page?.one;
  if (!page || (route.id ? !One : !View)) {
    if (route.page === '') return null;
    return (
      <Page title={t.app.noPage} name={t.app.noPage}>
        <p>{t.app.noPageText}</p>
      </Page>
    );
  }
  if (!may(page.scope)) {
    return (
      <Page title={t.problems.notOffered} name={t.problems.notOffered}>
        <p>
          {t.problems.notAllowed} <code>{page.scope}</code>
        </p>
      </Page>
    );
  }
  return route.id && One ? <One id={route.id} /> : View ? <View /> : null;
}

/** The address is of a workspace that this tab is not signed in to. */
function Elsewhere({ session: now }: { session: Session }) {
  return (
    <Page title={t.app.elsewhere} name={t.app.elsewhere}>
      <p>{t.app.elsewhereText(now.info.workspace.name)}</p>
      <div class="buttons">
        <button type="button" class="main" onClick={() => go(address(now.workspaceId, ''))}>
          {t.app.stay(now.info.workspace.name)}
        </button>
        <button type="button" onClick={() => void signOut().catch(() => undefined)}>
          {t.app.signOut}
        </button>
      </div>
    </Page>
  );
}

function Settings({ redraw, children }: { redraw: () => void; children?: ComponentChildren }) {
  const other = theme() === 'dark' ? 'light' : 'dark';
  const utc = clock() === 'utc';
  return (
    <div class="settings" role="group" aria-label={t.app.settings}>
      <button
        type="button"
        lang={spoken === 'en' ? 'es' : 'en'}
        onClick={() => {
          speak(spoken === 'en' ? 'es' : 'en');
          redraw();
        }}
      >
        {spoken === 'en' ? 'Español' : 'English'}
      </button>
      <button
        type="button"
        aria-pressed={other === 'light'}
        onClick={() => {
          chooseTheme(other);
          redraw();
        }}
      >
        {t.app.dark}
      </button>
      {children && (
        <button
          type="button"
          aria-pressed={utc}
          onClick={() => {
            rememberClock(utc ? 'local' : 'utc');
            redraw();
          }}
        >
          UTC
        </button>
      )}
      {children}
    </div>
  );
}
