// Who is signed in. The session stands in the storage of this tab, so that a reload keeps it and a closed tab forgets it.

import type { paths } from './openapi';
import { remember, remembered } from './preferences';

type SessionPath = paths['/service/api/v1/workspaces/{workspaceId}/session'];
export type Info = SessionPath['get']['responses'][200]['content']['application/json'];

export interface Session {
  workspaceId: string;
  apiKey: string;
  info: Info;
}

/** Why nobody is signed in any more. */
export type Ended = 'signedOut' | 'ended';

const NAME = 'portal.session';
const tab = () => sessionStorage;

let now: Session | null = read();
let ended: Ended | null = null;
export const changes = new EventTarget();

function read(): Session | null {
  try {
    return JSON.parse(remembered(NAME, tab) ?? 'null');
  } catch {
    return null;
  }
}

export const session = (): Session | null => now;
export const whyEnded = (): Ended | null => ended;

export function signedIn(begun: Session): void {
  now = begun;
  ended = null;
  remember(NAME, JSON.stringify(begun), tab);
  changes.dispatchEvent(new Event('change'));
}

export function forget(why: Ended): void {
  if (!now) return;
  now = null;
  ended = why;
  remember(NAME, null, tab);
  changes.dispatchEvent(new Event('change'));
}

/** Whether the session has this scope. `*` has all but erasing contacts. */
export function may(scope: string): boolean {
  const scopes: readonly string[] = now?.info.scopes ?? [];
  return scopes.includes(scope) || (scopes.includes('*') && scope !== 'contacts:erase');
}
