// The demo's landing page: reads the form, sends the lead and shows the outcome.

const form = document.querySelector('#lead');
const { name, phone, consent } = form.elements;
const button = form.querySelector('button');
const action = form.querySelector('#action');
const status = document.querySelector('#status');

const SAY = {
  rejected: {
    title: 'We could not take your request',
    text: 'Please check your phone number, or write to us at hello@aster.example.com.',
  },
  'try-again': {
    title: 'That did not work',
    text: 'Nothing was lost: please try again in a moment.',
  },
  unavailable: {
    title: 'This form is closed at the moment',
    text: 'Please come back later, or write to us at hello@aster.example.com.',
  },
};

// Your own page imports this script by its whole URL. Here the host is known only when the stack runs.
const SCRIPT = '/api/v1/leadscout/scripts/lead-capture-2.js';

let loading = load();
let consentedAt = null;
consent.addEventListener('change', () => {
  consentedAt = consent.checked ? new Date() : null;
  if (consent.checked) complain(consent, '');
});
phone.addEventListener('input', () => complain(phone, ''));

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  show(null);
  button.disabled = true;
  const api = (await loading) ?? (await (loading = load()));
  button.disabled = false;
  if (!api) return finish('unavailable');
  const cellphone = api.phoneFrom(phone.value);
  complain(phone, cellphone ? '' : 'Please give your number with its country code, beginning with +.');
  complain(consent, consent.checked ? '' : 'Please agree, or we may not write to you.');
  const wrong = form.querySelector('[aria-invalid="true"]');
  if (wrong) return wrong.focus();

  busy(true);
  const lead = { cellphone, name: name.value, consentedAt, consentText: api.textBeside(consent) };
  const { outcome, requestId } = await api.sendLead(api.settings, lead);
  busy(false);
  if (outcome === 'accepted') return accepted(cellphone, requestId);
  return finish(outcome);
});

// Not before: a form without its handler would put the number into the address.
button.disabled = false;

/** Shows an outcome after which the form stays. */
function finish(outcome) {
  action.textContent = outcome === 'try-again' ? 'Try again' : 'Write to me';
  show(outcome, SAY[outcome].title, SAY[outcome].text);
  // Disabling the button removed the focus.
  (outcome === 'rejected' ? phone : button).focus();
}

/** The script and the settings of `sendLead`, or null if one of them cannot be loaded. */
async function load() {
  const answer = await fetch('settings.json').catch(() => null);
  if (!answer?.ok) return null;
  const settings = await answer.json();
  const script = await import(settings.captureUrl + SCRIPT).catch(() => null);
  return script && { ...script, settings: { ...settings, token: simulatedToken } };
}

/**
 * Replaces `recaptchaV3(siteKey)` of a real page. The local captcha simulator selects its answer by the beginning of
 * the token. The page's parameter `?captcha=` sets it: `score-0.1`, `status-500`, `hang` and so on.
 */
async function simulatedToken() {
  const kind = new URLSearchParams(location.search).get('captcha') ?? 'pass';
  return `${kind}-${crypto.randomUUID()}`;
}

function complain(field, message) {
  document.querySelector(`#${field.id}-error`).textContent = message;
  if (message) field.setAttribute('aria-invalid', 'true');
  else field.removeAttribute('aria-invalid');
}

function busy(sending) {
  button.disabled = sending;
  form.setAttribute('aria-busy', String(sending));
  if (sending) {
    action.textContent = 'Sending…';
  }
}

function accepted(cellphone, requestId) {
  form.hidden = true;
  const note = show('accepted', 'Thank you!', `We will write to ${cellphone} on WhatsApp in a moment.`);
  if (requestId) note.append(element('p', `Reference: ${requestId}`, 'reference'));
  const title = note.querySelector('h2');
  title.tabIndex = -1;
  title.focus();
}

function show(kind, title, text) {
  status.replaceChildren();
  if (!kind) return null;
  const note = element('div', '', `note ${kind}`);
  note.append(element('h2', title), element('p', text));
  status.append(note);
  return note;
}

function element(tag, text, className = '') {
  const made = document.createElement(tag);
  made.textContent = text;
  made.className = className;
  return made;
}
