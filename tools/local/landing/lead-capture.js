// Sends a lead from a landing page to the lead capture API. Copy this file as it is; it needs nothing else, and no
// bundler: `<script type="module">` and `import { sendLead } from './lead-capture.js'` are enough.

// The API takes tokens of this action only, so that one made for another form of the same site is worth nothing here.
const ACTION = 'campaign_lead';
const PATH = '/api/v1/leadscout/campaign-leads';

// The API answers within seconds; a visitor who waits longer than this has a connection that is gone.
const TIMEOUT_MS = 20_000;

// More than this the API does not take. All of it comes from the page's address, which whoever made the link chose:
// no visitor shall be turned away for it, so it is cut.
const MAX_UTM = 20;
const MAX_UTM_LENGTH = 256;
const MAX_ADDRESS = 2048;
const MAX_NAME = 100;

/**
 * Sends one lead, and says what became of it. It does not throw for whatever the network or the API may answer.
 *
 * @param {object} settings
 * @param {string} settings.captureUrl    where the lead capture API is, as the operator told you
 * @param {string} settings.workspaceId   your workspace
 * @param {string} settings.captureKey    its capture key; made for pages, and no secret
 * @param {string} [settings.brandId]     the brand that writes to the visitor; else the workspace's default
 * @param {() => Promise<string>} settings.token  makes a captcha token: `recaptchaV3(siteKey)`
 * @param {number} [settings.timeoutMs]   how long all of it may take
 * @param {object} lead
 * @param {string} lead.cellphone         as `phoneFrom` gives it: `+34600111222`
 * @param {string} [lead.name]
 * @param {Date | null} lead.consentedAt  when the visitor agreed to be written to; null if they did not
 * @returns {Promise<{outcome: 'accepted', requestId: string | null}
 *                 | {outcome: 'rejected'} | {outcome: 'try-again'}>}
 *   accepted: the visitor will be written to. rejected: the same lead would be refused again.
 *   try-again: nothing is known to be wrong with the lead; it may be sent again, and is never doubled by that.
 */
export async function sendLead(settings, lead) {
  for (const name of ['captureUrl', 'workspaceId', 'captureKey', 'token']) {
    // A mistake of the page, not of the visitor: better seen at once.
    if (!settings[name]) throw new TypeError(`sendLead: settings.${name} is missing`);
  }
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), settings.timeoutMs ?? TIMEOUT_MS);
  try {
    // A token can be used once and for two minutes only, so each try makes its own, at the last moment.
    const token = await orAborted(Promise.resolve(settings.token()), abort.signal);
    const answer = await fetch(urlOf(settings), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(bodyOf(settings, lead, token)),
      // The API never asks for cookies, and a browser would hide its answers if any were sent.
      credentials: 'omit',
      cache: 'no-store',
      redirect: 'error',
      signal: abort.signal,
    });
    return await outcomeOf(answer);
  } catch {
    // No connection, an origin that is not allowed (the browser does not tell the two apart), a captcha that does not
    // load, or no time left.
    return { outcome: 'try-again' };
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Makes tokens of Google's reCAPTCHA v3, whose script the page loads:
 * `<script src="https://www.google.com/recaptcha/api.js?render=SITE_KEY" async defer></script>`.
 *
 * @param {string} siteKey
 * @returns {() => Promise<string>}
 */
export function recaptchaV3(siteKey) {
  return () =>
    new Promise((resolve, reject) => {
      const captcha = globalThis.grecaptcha;
      // Not loaded yet, or kept out by a blocker.
      if (!captcha) throw new Error('grecaptcha is not there');
      // What goes wrong in there is nobody's to catch otherwise, such as a site key that is none.
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
 * A phone number as people write it, in the one form that the API takes; null if it is no number with a country code.
 *
 * @param {string} text  for instance `+34 600 11 12 22` or `0034 (600) 111-222`
 * @returns {string | null} for instance `+34600111222`
 */
export function phoneFrom(text) {
  // The (0) is dialled within the country only.
  const abroad = text.replace(/^(\s*(?:\+|00)[^(]*)\(0\)/, '$1');
  const number = abroad.replace(/[\s().\-/\u2010-\u2015\u200e\u200f\u202a-\u202e]/g, '').replace(/^00/, '+');
  return /^\+[1-9][0-9]{7,14}$/.test(number) ? number : null;
}

function urlOf({ captureUrl, workspaceId }) {
  // The workspace must stand in the URL: a preflight has no body, and without it the API could not tell whose list of
  // allowed origins to look at.
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

/** Without what follows the #: that never leaves a browser by itself, so it does not here. */
function addressOf({ origin, pathname, search }) {
  const fits = [origin + pathname + search, origin + pathname].find((address) => address.length <= MAX_ADDRESS);
  return fits ?? `${origin}/`;
}

/** The campaign's parameters, under their names; of one that is repeated the first. */
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

/** The beginning of a text, by characters, so that none is cut in half. */
function cut(text, most) {
  return Array.from(text).slice(0, most).join('');
}

/** The API takes no control characters; in a link they are a mistake or an attempt. */
function withoutControls(text) {
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, '');
}

async function outcomeOf(answer) {
  if (answer.status === 202) {
    // It stands, even if the rest of the answer got lost.
    const body = await answer.json().catch(() => null);
    return { outcome: 'accepted', requestId: body?.requestId ?? null };
  }
  // 422: the captcha provider cannot be reached. 429: too many at the moment. 5xx: our fault.
  const passes = answer.status === 422 || answer.status === 429 || answer.status >= 500;
  return { outcome: passes ? 'try-again' : 'rejected' };
}

/** A promise that nobody waits for any longer once the signal says so. */
function orAborted(promise, signal) {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
    promise.then(resolve, reject);
  });
}
