// The Integrations API, and what its refusals mean for a page.

import type { Client } from 'openapi-fetch';

import type { components, paths } from './openapi';
import { forget, session } from './session';

export type Schemas = components['schemas'];
export type Detail = Schemas['ValidationFailure'];

type Method = 'post' | 'patch';
/** The body of a request. */
export type Body<P extends keyof paths, M extends Method> = paths[P] extends Record<M, { requestBody: { content: { 'application/json': infer B } } }> ? B : never;

/** The deployment's own address: the page is at <base>/portal/index.html. */
const BASE = new URL('..', location.href.split('#')[0]).href.replace(/\/$/, '');
export const PREFIX = `${BASE}/service/api/v1/workspaces`;

/** Why a request failed. `status` is 0 if there was no answer. */
export class Problem extends Error {
  status: number;
  code: string | null;
  title: string;
  detail: Detail[];
  extra: Record<string, unknown>;
  requestId: string | null;
  retryAfter: number | null;

  constructor(status: number, body: unknown, headers?: Headers) {
    const said = (typeof body === 'object' && body !== null ? body : {}) as Partial<Schemas['ErrorBase'] & { code: string }>;
    super(said.title ?? 'No answer');
    this.status = status;
    this.code = said.code ?? null;
    this.title = said.title ?? '';
    this.detail = said.detail ?? [];
    this.extra = said.extra ?? {};
    this.requestId = headers?.get('x-request-id') ?? null;
    const wait = headers?.get('retry-after') ?? null;
    this.retryAfter = wait === null ? null : Number(wait);
  }
}

/** A request that the page made, for people who want to make it with a program. */
export interface Call {
  method: string;
  url: string;
  headers: [string, string][];
  body: string | null;
}

let calls: Call[] = [];
export const callsOfPage = (): readonly Call[] => calls;
export const beginPage = (): void => void (calls = []);

const SHOWN_HEADERS = ['content-type', 'if-match', 'idempotency-key'];
const NEVER_SHOWN = ['receiverKey', 'captchaSecret'];

interface Init {
  params?: { path?: Record<string, string>; query?: Record<string, unknown>; header?: Record<string, string> };
  headers?: Record<string, string>;
  body?: unknown;
}

/** What `openapi-fetch` does with such requests, without what none of them needs: that took 2 KB of the document. Its types hold here. */
const by = (method: string) => async (path: string, init: Init) => {
  const { path: places = {}, query = {}, header } = init.params ?? {};
  const pairs = Object.entries(query).flatMap(([name, given]) => [given].flat().filter((one) => one !== undefined && one !== null).map((one) => `${name}=${encodeURIComponent(String(one))}`));
  const url = BASE + path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(places[name] ?? '')) + (pairs.length ? `?${pairs.join('&')}` : '');
  const body = init.body === undefined ? null : JSON.stringify(init.body);
  const headers = new Headers({ ...header, ...init.headers, ...(body !== null && { 'content-type': 'application/json' }) });
  noted(method, url, headers, body);
  const now = session();
  if (now && !headers.has('x-api-key')) headers.set('x-api-key', now.apiKey);
  const response = await fetch(url, { method, headers, body });
  const said = parsed(await response.text());
  return { data: response.ok ? said : undefined, error: response.ok ? undefined : said, response };
};

/** A gateway may answer with what is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export const client = Object.fromEntries(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((method) => [method, by(method)])) as unknown as Client<paths>;

function noted(method: string, url: string, headers: Headers, body: string | null): void {
  const shown = SHOWN_HEADERS.flatMap((name): [string, string][] => {
    const value = headers.get(name);
    return value === null ? [] : [[name, value]];
  });
  const call = { method, url, headers: shown, body: body && hidden(body) };
  calls = [call, ...calls.filter(({ method, url }) => method !== call.method || url !== call.url)].slice(0, 5);
}

function hidden(text: string): string {
  const body = JSON.parse(text);
  for (const name of NEVER_SHOWN) if (body[name]) body[name] = `$${name.replace(/[A-Z]/g, '_$&').toUpperCase()}`;
  return JSON.stringify(body);
}

/** The call as a command for a shell that has the key in API_KEY. */
export function curl({ method, url, headers, body }: Call): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  const lines = [`curl ${method === 'GET' ? '' : `-X ${method} `}${quoted(url)}`, '-H "x-api-key: $API_KEY"'];
  for (const [name, value] of headers) lines.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (body !== null) lines.push(`-d ${quoted(body)}`);
  return lines.join(' \\\n  ');
}

export interface Answer<T> {
  value: T;
  etag: string | null;
  status: number;
}

interface Answered {
  data?: unknown;
  error?: unknown;
  response: Response;
}

/** The answer to a request, or a `Problem`. */
export async function answer<R extends Answered>(asked: Promise<R>): Promise<Answer<NonNullable<R['data']>>> {
  const { data, error, response } = await asked.catch(() => {
    throw new Problem(0, null);
  });
  if (!response.ok) {
    if (response.status === 403 && (await hasEnded())) forget('ended');
    throw new Problem(response.status, error, response.headers);
  }
  return { value: data as NonNullable<R['data']>, etag: response.headers.get('etag'), status: response.status };
}

export const value = async <R extends Answered>(asked: Promise<R>): Promise<NonNullable<R['data']>> => (await answer(asked)).value;

/** Whether the API no longer knows the session. Otherwise a 403 says that the session may not do this. */
async function hasEnded(): Promise<boolean> {
  const now = session();
  if (!now) return false;
  try {
    const { status } = await fetch(`${PREFIX}/${encodeURIComponent(now.workspaceId)}/session`, { headers: { 'x-api-key': now.apiKey } });
    return status === 403;
  } catch {
    return false;
  }
}

/** The parameter of every path. */
export const workspace = (): { workspaceId: string } => ({ workspaceId: session()?.workspaceId ?? '' });

/** Exchanges a link's token or an API key for a session. Nothing keeps the token. */
export async function signIn(workspaceId: string, credential: string) {
  const begun = await value(
    client.POST('/service/api/v1/workspaces/{workspaceId}/sessions', {
      params: { path: { workspaceId } },
      headers: { 'x-api-key': credential },
      body: {},
    }),
  );
  const { apiKey } = begun;
  const info = await value(
    client.GET('/service/api/v1/workspaces/{workspaceId}/session', { params: { path: { workspaceId } }, headers: { 'x-api-key': apiKey } }),
  );
  calls = [];
  return { workspaceId, apiKey, info };
}

export async function signOut(): Promise<void> {
  try {
    await value(client.DELETE('/service/api/v1/workspaces/{workspaceId}/session', { params: { path: workspace() } }));
  } finally {
    forget('signedOut');
  }
}
