// Sends a lead from a landing page to the lead capture API. That API serves this file, so a page needs no copy:
// `import { sendLead } from 'https://{host}/api/v1/leadscout/scripts/lead-capture-1.js'` in a `<script type="module">`.

// The API accepts only tokens of this action, so a token of another form of the same site is refused.
const ACTION = 'campaign_lead';
const PATH = '/api/v1/leadscout/campaign-leads';

// The API answers within seconds. If a visitor waits longer than this, the connection is lost.
const TIMEOUT_MS = 20_000;

// The limits of the API. Longer values are cut, so that they do not cause the refusal of a visitor's lead. All but the
// name come from the page's address, which the author of the link chose.
const MAX_UTM = 20;
const MAX_UTM_LENGTH = 256;
const MAX_ADDRESS = 2048;
const MAX_NAME = 100;

/**
 * Sends one lead and returns the outcome. It does not throw, whatever the network or the API answers. It throws only
 * a `TypeError` for a missing setting.
 *
 * @param {object} settings
 * @param {string} settings.captureUrl    where the lead capture API is, as the operator told you
 * @param {string} settings.workspaceId   your workspace
 * @param {string} settings.captureKey    its capture key; it is public and not secret
 * @param {string} [settings.brandId]     the brand that writes to the visitor [default: the workspace's]
 * @param {() => Promise<string>} settings.token  creates a captcha token: `recaptchaV3(siteKey)`
 * @param {number} [settings.timeoutMs]   the time limit for the token and the request together
 * @param {object} lead
 * @param {string} lead.cellphone         as `phoneFrom` returns it: `+34600111222`
 * @param {string} [lead.name]
 * @param {Date | null} lead.consentedAt  when the visitor agreed to be written to; null if they did not
 * @returns {Promise<{outcome: 'accepted', requestId: string | null}
 *                 | {outcome: 'rejected'} | {outcome: 'try-again'}>}
 *   accepted: the service will write to the visitor. rejected: the API would refuse the same lead again.
 *   try-again: the lead is not known to be wrong. You may send it again, and this never creates a second lead.
 */
export async function sendLead(settings, lead) {
  for (const name of ['captureUrl', 'workspaceId', 'captureKey', 'token']) {
    // This is a mistake in the page, not the visitor's. It throws, so that you notice it at once.
    if (!settings[name]) throw new TypeError(`sendLead: settings.${name} is missing`);
  }
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), settings.timeoutMs ?? TIMEOUT_MS);
  try {
    // A token is valid once and for two minutes, so each try creates its own just before the request.
    const token = await orAborted(Promise.resolve(settings.token()), abort.signal);
    const answer = await fetch(urlOf(settings), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(bodyOf(settings, lead, token)),
      // The API never needs cookies. If the request sent any, the browser would hide the answer.
      credentials: 'omit',
      cache: 'no-store',
      redirect: 'error',
      signal: abort.signal,
    });
    return await outcomeOf(answer);
  } catch {
    // The cause is a lost connection, an origin that is not allowed (the browser does not tell the two apart), a
    // captcha that does not load, or the timeout.
    return { outcome: 'try-again' };
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Creates tokens of Google's reCAPTCHA v3. The page loads its script:
 * `<script src="https://www.google.com/recaptcha/api.js?render=SITE_KEY" async defer></script>`.
 *
 * @param {string} siteKey
 * @returns {() => Promise<string>}
 */
export function recaptchaV3(siteKey) {
  return () =>
    new Promise((resolve, reject) => {
      const captcha = globalThis.grecaptcha;
      // The script is not loaded yet, or a blocker prevents it.
      if (!captcha) throw new Error('grecaptcha is not there');
      // `ready` does not report errors of its callback, such as an invalid site key, so the callback rejects the
      // promise.
      captcha.ready(async () => {
        try {
          resolve(await captcha.execute(siteKey, { action: ACTION }));
        } catch (error) {
          reject(error);
        }
      });
    });
}

/**
 * Converts a phone number as people write it into E.164, the only format that the API accepts. Returns null if the
 * text is not a number with a country code.
 *
 * @param {string} text  for instance `+34 600 11 12 22` or `0034 (600) 111-222`
 * @returns {string | null} for instance `+34600111222`
 */
export function phoneFrom(text) {
  // The (0) is dialled only within the country.
  const abroad = text.replace(/^(\s*(?:\+|00)[^(]*)\(0\)/, '$1');
  const number = abroad.replace(/[\s().\-/\u2010-\u2015\u200e\u200f\u202a-\u202e]/g, '').replace(/^00/, '+');
  return /^\+[1-9][0-9]{7,14}$/.test(number) ? number : null;
}

function urlOf({ captureUrl, workspaceId }) {
  // The URL must name the workspace. A preflight request has no body, so the API needs the URL to find the
  // workspace's allowed origins.
  return `${captureUrl.replace(/\/+$/, '')}${PATH}?workspaceId=${encodeURIComponent(workspaceId)}`;
}

function bodyOf(settings, lead, token) {
  const page = new URL(location.href);
  return {
    workspaceId: settings.workspaceId,
    captureKey: settings.captureKey,
    cellphone: lead.cellphone,
    name: cut(withoutControls(lead.name ?? '').trim(), MAX_NAME) || null,
    brandId: settings.brandId || null,
    landingUri: addressOf(page),
    utm: utmOf(page.searchParams),
    consent: {
      status: lead.consentedAt ? 'GRANTED' : 'NOT_PROVIDED',
      capturedAt: lead.consentedAt?.toISOString() ?? null,
    },
    recaptchaToken: token,
  };
}

/** The page's address without the fragment (#), which a browser never sends. */
function addressOf({ origin, pathname, search }) {
  const fits = [origin + pathname + search, origin + pathname].find((address) => address.length <= MAX_ADDRESS);
  return fits ?? `${origin}/`;
}

/** The campaign's parameters by name. If a parameter is repeated, the first one wins. */
function utmOf(query) {
  const utm = new Map();
  for (const [sentName, sentValue] of query) {
    const [name, value] = [sentName, sentValue].map(withoutControls);
    if (/^utm_./i.test(name) && value !== '' && name.length <= MAX_UTM_LENGTH && !utm.has(name) && utm.size < MAX_UTM) {
      utm.set(name, cut(value, MAX_UTM_LENGTH));
    }
  }
  return Object.fromEntries(utm);
}

/** The beginning of a text. It counts code points, so no character is cut in half. */
function cut(text, most) {
  return Array.from(text).slice(0, most).join('');
}

/** The API refuses control characters. In a link they are a mistake or an attack. */
function withoutControls(text) {
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, '');
}

async function outcomeOf(answer) {
  if (answer.status === 202) {
    // The lead is accepted, even if the rest of the answer was lost.
    const body = await answer.json().catch(() => null);
    return { outcome: 'accepted', requestId: body?.requestId ?? null };
  }
  // 422: the captcha provider cannot be reached. 429: too many requests at the moment. 5xx: an error of the service.
  const passes = answer.status === 422 || answer.status === 429 || answer.status >= 500;
  return { outcome: passes ? 'try-again' : 'rejected' };
}

/** Waits for the promise until the signal aborts. */
function orAborted(promise, signal) {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
    promise.then(resolve, reject);
  });
}
