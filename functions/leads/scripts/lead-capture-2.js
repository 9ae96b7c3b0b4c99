// Sends a lead from a landing page to the lead capture API. That API serves this file, so a page needs no copy:
// `import { sendLead } from 'https://{host}/api/v1/leadscout/scripts/lead-capture-2.js'` in a `<script type="module">`.

// The API accepts only tokens of this action, so a token of another form of the same site is refused.
const ACTION = 'campaign_lead';
const PATH = '/api/v1/leadscout/campaign-leads';

// The API answers within seconds. If a visitor waits longer than this, the connection is lost.
const TIMEOUT_MS = 20_000;

// The limits of the API. Longer values are cut, so that they do not cause the refusal of a visitor's lead. All but the
// name and the consent's text come from the page's address, which the author of the link chose.
const MAX_UTM = 20;
const MAX_UTM_LENGTH = 256;
const MAX_ADDRESS = 2048;
const MAX_NAME = 100;
const MAX_CONSENT_TEXT = 2000;

// The countries by the prefix that is dialled before a number within them: `ES934` is Spain, whose mobile numbers have at
// most 9 digits (in hexadecimal) after the country code 34. Without such a prefix, a zero belongs to the number, as in Italy.
const COUNTRIES = [
  [
    /^0/,
    'AE9971 AF993 AL9355 AM8374 ARb54 ATd43 AU961 AXa358 AZ9994 BA9387 BDa880 BE932 BG9359 BL9590 BO8591 ' +
    'BRb55 CC961 CD9243 CH941 CNb86 COa57 CU853 CX961 DEb49 DZ9213 EC9593 EGa20 EH9212 ER7291 ET9251 FIa358 ' +
    'FR933 GBa44 GE9995 GF9594 GGa44 GH9233 GP9590 HR9385 IDc62 IE9353 IL9972 IMa44 INa91 IQa964 IRa98 JEa44 ' +
    'JO9962 JPa81 KE9254 KG9996 KH9855 KI8686 KPa850 KRa82 LAa856 LB8961 LI9423 LK994 LR9231 LY9218 MA9212 ' +
    'MC9377 MD8373 ME8382 MF9590 MG9261 MK8389 MMa95 MN8976 MQ9596 MW9265 MYa60 NA9264 NGa234 NLb31 NPa977 ' +
    'NZa64 PE951 PHa63 PKa92 PM9508 PS9970 PY9595 RE9262 RO940 RSa381 RW9250 SA9966 SD9249 SE946 SI8386 ' +
    'SK9421 SL8232 SO9252 SS9211 SY9963 TH966 TRa90 TW9886 TZ9255 UA9380 UG9256 UY8598 VEa58 VN984 XK8383 ' +
    'YE9967 YT9262 ZA927 ZM9260 ZW9263 ',
  ],
  [
    /^1/,
    'AGa1 AIa1 ASa1 BBa1 BMa1 BSa1 CAa1 DMa1 DOa1 GDa1 GUa1 JMa1 KNa1 KYa1 LCa1 MH7692 MPa1 MSa1 PRa1 SXa1 ' +
    'TCa1 TTa1 USa1 VCa1 VGa1 VIa1 ',
  ],
  [
    /^80?|^0/,
    'BY9375 KZa7 LT8370 RUa7 TM8993 ',
  ],
  [
    /^06/,
    'HU936 ',
  ],
  [
    /^$/,
    'AC5247 AD9376 AO9244 AW7297 BF8226 BH8973 BI8257 BJa229 BN7673 BQ7599 BT8975 BW8267 BZ7501 CF8236 CG9242 ' +
    'CIa225 CK5682 CL956 CM9237 CR8506 CV7238 CW8599 CY8357 CZ9420 DJ8253 DK845 EE8372 ES934 FJ7679 FK5500 ' +
    'FM7691 FO6298 GA8241 GI8350 GL6299 GM9220 GN9224 GQ9240 GRa30 GT8502 GW9245 GY7592 HK8852 HN8504 HT8509 ' +
    'IO7246 IS9354 ITa39 KM7269 KW8965 LS8266 LU9352 LV8371 ML8223 MO8853 MR8222 MT8356 MU8230 MV7960 MXa52 ' +
    'MZ9258 NC6687 NE8227 NF6672 NI8505 NO847 NR7674 NU7683 OM8968 PA8507 PF8689 PG8675 PL948 PT9351 PW7680 ' +
    'QA8974 SB7677 SC7248 SG865 SH5290 SJ847 SM8378 SN9221 SR7597 ST7239 SV8503 SZ8268 TA4290 TD8235 TG8228 ' +
    'TJ9992 TK7690 TL8670 TN8216 TO7676 TV7688 UZ9998 VAa39 VU7678 WF6681 WSa685 ',
  ],
];
const PLANS = COUNTRIES.flatMap(([trunk, all]) =>
  all.trim().split(' ').map((entry) => ({
    name: entry.slice(0, 2),
    longest: parseInt(entry[2], 16),
    code: entry.slice(3),
    trunk,
  })),
);

// What is dialled before the country code of another country, where it is not 00 alone.
const EXITS = { 1: /^(\+|011|00)/, 61: /^(\+|0011|00)/, 81: /^(\+|010|00)/ };

// How numbers are written in single countries: country code, pattern of the digits after it, and what stands for it.
const HABITS = [
  // Mexico: prefixes until 2019. WhatsApp still shows the 1.
  ['52', /^(?:0?1|04[45])(?=\d{10}$)/, ''],
  // Brazil: the code of a carrier after the zero.
  ['55', /^0(?:1[245]|2[1-35]|31|4[13]|[56]5|99)(?=\d{10,11}$)/, ''],
  // Argentina: mobiles have a 15 after the area within the country, and a 9 before it from abroad.
  ['54', /^0?(11(?=15\d{8}$)|[23]\d\d(?=15\d{7}$)|[23]\d{3}(?=15\d{6}$))15/, '9$1'],
  // Gabon: a zero before eight digits.
  ['241', /^0(?=\d{8}$)/, ''],
];

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
 * @param {string | null} [lead.consentText]  the text that the visitor agreed to, as `textBeside` returns it
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
 * Reads the text that the visitor sees beside a field: that of its labels, without what the page hides. Call it when you
 * send the lead, so that it is the text of that moment, whatever language the page shows.
 *
 * @param {HTMLInputElement} field  the box that the visitor ticks
 * @returns {string | null} null if no label shows a text
 */
export function textBeside(field) {
  const texts = Array.from(field.labels ?? [], (label) => label.innerText.trim());
  return texts.filter((text) => text !== '').join('\n') || null;
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
 * Converts a phone number as people type or paste it into E.164, the only format that the API accepts. Returns null if the
 * text is no number, or has no country code while there is no `country`. The API checks the number itself.
 *
 * @param {string} text       for instance `+34 600 11 12 22`, `0034 (600) 111-222`, or with a country `600 111 222`
 * @param {string} [country]  the country of numbers without a country code, as ISO 3166 abbreviates it: `ES`
 * @returns {string | null} for instance `+34600111222`
 */
export function phoneFrom(text, country) {
  const home = country && PLANS.find(({ name }) => name === country.toUpperCase());
  // This is a mistake in the page, too.
  if (country && !home) throw new TypeError(`phoneFrom: there is no country ${country}`);
  const typed = dialled(text);
  if (!/^\+?[0-9]+$/.test(typed)) return null;

  const abroad = typed.replace(EXITS[home?.code] ?? /^(\+|00)/, '');
  const isAbroad = abroad !== typed;
  if (!isAbroad && !home) return null;
  const plan = isAbroad ? PLANS.find(({ code }) => abroad.startsWith(code)) : home;
  const number = plan ? numberIn(plan, abroad, isAbroad) : abroad;
  return /^[1-9][0-9]{7,14}$/.test(number) ? `+${number}` : null;
}

/** The number with its country code. Without a `+`, many people still begin with the country code. */
function numberIn(plan, digits, hasCode) {
  const { code, longest } = plan;
  const national = withoutTrunk(hasCode ? digits.slice(code.length) : digits, plan);
  const isWhole = !hasCode && national.length > longest && digits.startsWith(code);
  return isWhole ? numberIn(plan, digits, true) : code + national;
}

/** The digits and the plus of a text in any script, without what people and programs put between them. */
function dialled(text) {
  // NFKC turns full-width forms into ordinary ones. Format characters and variation selectors are invisible.
  const [number] = text.normalize('NFKC').replace(/[\p{Format}\ufe00-\ufe0f]/gu, '').trim().replace(/^tel:/i, '').split(';');
  return number.replace(/\p{Decimal_Number}/gu, digit).replace(/[\s().[\]/\p{Dash_Punctuation}\u2212\u30fc\u00b7]/gu, '');
}

/** Digits of a script are ten neighbours. */
function digit(character) {
  const isDigit = (code) => /\p{Decimal_Number}/u.test(String.fromCodePoint(code));
  const code = character.codePointAt(0);
  let below = 0;
  while (isDigit(code - below - 1)) below += 1;
  return String(below % 10);
}

/** The digits after the country code, without what is dialled only within the country. */
function withoutTrunk(digits, { code, trunk, longest }) {
  for (const [of, pattern, instead] of HABITS) {
    if (of === code && pattern.test(digits)) return digits.replace(pattern, instead);
  }
  // Numbers can begin with an 8 or a 1, but not with the 0 of a prefix.
  return digits.startsWith('0') || digits.length > longest ? digits.replace(trunk, '') : digits;
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
      text: consentTextOf(lead),
    },
    recaptchaToken: token,
  };
}

/** The text that the visitor agreed to, line by line. */
function consentTextOf({ consentedAt, consentText }) {
  const lines = (consentText ?? '').split(/\r\n?|\n/).map((line) => withoutControls(line));
  return (consentedAt && cut(lines.join('\n').trim(), MAX_CONSENT_TEXT)) || null;
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
