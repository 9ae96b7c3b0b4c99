// The address behind `#`: /w/<workspace>/<page>[/<id>][?filters]. It reaches no server.

import { useEffect, useState } from 'preact/hooks';

export interface Route {
  workspaceId: string | null;
  page: string;
  id: string | null;
  query: URLSearchParams;
}

export function parse(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const [w, workspaceId, page, id] = path.split('/').map(decoded);
  if (w !== 'w') return { workspaceId: null, page: '', id: null, query: new URLSearchParams() };
  return { workspaceId: workspaceId || null, page: page ?? '', id: id || null, query: new URLSearchParams(query) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export interface Target {
  id?: string | undefined;
  query?: Record<string, string | undefined>;
}

export function address(workspaceId: string, page: string, { id, query }: Target = {}): string {
  const filters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) if (value) filters.set(name, value);
  const path = ['#/w', workspaceId, page, id].filter(Boolean).map((part) => (part === '#/w' ? part : encodeURIComponent(part as string)));
  return path.join('/') + (filters.size ? `?${filters}` : '');
}

const changed = new EventTarget();

export function go(to: string): void {
  if (to === location.hash) changed.dispatchEvent(new Event('change'));
  else location.hash = to;
}

/** Replaces the address without an entry in the history: filters, and the removal of a link's token. */
export function replace(to: string): void {
  history.replaceState(null, '', to);
  changed.dispatchEvent(new Event('change'));
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => parse(location.hash));
  useEffect(() => {
    const look = () => setRoute(parse(location.hash));
    addEventListener('hashchange', look);
    changed.addEventListener('change', look);
    return () => {
      removeEventListener('hashchange', look);
      changed.removeEventListener('change', look);
    };
  }, []);
  return route;
}
