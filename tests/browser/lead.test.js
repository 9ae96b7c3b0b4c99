// The landing page and the lead capture API in a real browser, with its CORS rules.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { eventsOf, launch, look, open, sentTo, stack, tokensSeen, until, workspace } from './stack.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const LEADS = `${stack.captureUrl}/api/v1/leadscout/campaign-leads`;

let browser;
before(async () => (browser = await launch()));
after(() => browser?.close());

// The same number is the same lead for a day, so each test uses its own.
let numbers = 100;
const nextPhone = () => `+34600200${(numbers += 1)}`;

const parts = (page) => ({
  name: page.getByRole('textbox', { name: 'Name (optional)' }),
  phone: page.getByRole('textbox', { name: 'Phone number' }),
  consent: page.getByRole('checkbox', { name: 'I agree that Aster Travel writes to me on WhatsApp about my trip.' }),
  button: page.getByRole('button'),
  status: page.getByRole('status'),
});

async function fill(page, phone) {
  const { name, phone: field, consent } = parts(page);
  await name.fill('Ana García');
  await field.fill(phone);
  await consent.check();
}

/** Records the requests to the lead capture API with their responses. The browser's network layer shows preflights too. */
async function recorded(page) {
  const requests = [];
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  const known = new Map();
  session.on('Network.requestWillBeSent', ({ requestId, request }) => {
    if (!request.url.startsWith(LEADS)) return;
    const entry = { method: request.method, url: new URL(request.url), body: request.postData, headers: {} };
    known.set(requestId, entry);
    requests.push(entry);
  });
  session.on('Network.responseReceived', ({ requestId, response }) => {
    const entry = known.get(requestId);
    if (entry) entry.status = response.status;
  });
  session.on('Network.requestWillBeSentExtraInfo', ({ requestId, headers }) => {
    const entry = known.get(requestId);
    if (entry) entry.headers = headers;
  });
  return requests;
}

/** Waits until the page shows this outcome. */
async function outcome(page, title) {
  await parts(page).status.getByRole('heading', { name: title }).waitFor();
}

const ACCEPTED = 'Thank you!';
const REJECTED = 'We could not take your request';
const TRY_AGAIN = 'That did not work';

test('a lead from the allowed origin passes the preflight and is accepted', async () => {
  const page = await open(browser, `${stack.landingUrl}/?utm_source=news&utm_campaign=summer&other=1#top`);
  const requests = await recorded(page);
  await look(page, 'idle');
  const before = Date.now();
  const phone = nextPhone();
  await fill(page, phone.replace(/^(...)(...)(...)/, '$1 $2 $3 '));
  await parts(page).button.click();
  await outcome(page, ACCEPTED);
  await look(page, 'accepted');

  const [preflight, post, ...others] = requests.sort((one, other) => one.method.localeCompare(other.method));
  assert.deepEqual(others, []);
  assert.deepEqual([preflight.method, preflight.status], ['OPTIONS', 204]);
  assert.deepEqual([post.method, post.status], ['POST', 202]);
  for (const { url } of [preflight, post]) {
    assert.equal(url.href, `${LEADS}?workspaceId=${workspace.workspaceId}`);
  }
  assert.ok(!Object.keys(post.headers).some((name) => name.toLowerCase() === 'cookie'));

  const { recaptchaToken, consent, ...body } = JSON.parse(post.body);
  assert.deepEqual(body, {
    workspaceId: workspace.workspaceId,
    captureKey: workspace.capture.captureKey,
    cellphone: phone,
    name: 'Ana García',
    brandId: workspace.capture.brandId,
    landingUri: `${stack.landingUrl}/?utm_source=news&utm_campaign=summer&other=1`,
    utm: { utm_source: 'news', utm_campaign: 'summer' },
  });
  assert.match(recaptchaToken, /^pass-/);
  assert.equal(consent.status, 'GRANTED');
  const agreed = Date.parse(consent.capturedAt);
  assert.ok(before <= agreed && agreed <= Date.now(), consent.capturedAt);
  assert.equal(consent.text, 'I agree that Aster Travel writes to me on WhatsApp about my trip.');

  const { status } = parts(page);
  assert.match(await status.innerText(), new RegExp(`We will write to \\${phone} on WhatsApp`));
  const reference = await status.getByText('Reference: ').innerText();
  assert.match(reference.replace('Reference: ', ''), UUID);
  assert.equal(await parts(page).button.count(), 0, 'the form must disappear');
});

test('a submitted form leads to one WhatsApp message and to the webhooks about it', async () => {
  const page = await open(browser, stack.landingUrl);
  const phone = nextPhone();
  const answered = page.waitForResponse((response) => response.url().startsWith(LEADS) && response.status() === 202);
  await fill(page, phone);
  await parts(page).button.click();
  await outcome(page, ACCEPTED);
  const { requestId } = await (await answered).json();

  const events = await until('lead.sent', async () => {
    const events = await eventsOf(requestId);
    return events.some(({ eventType }) => eventType === 'lead.sent') && events;
  });
  assert.deepEqual(events.map(({ eventType }) => eventType).sort(), ['lead.accepted', 'lead.sent']);
  const sent = events.find(({ eventType }) => eventType === 'lead.sent');
  assert.equal(sent.workspaceId, workspace.workspaceId);
  assert.equal(sent.payload.state, 'SENT');

  const [message, ...more] = await sentTo(phone);
  assert.deepEqual(more, [], 'the provider must get one message');
  const template = workspace.templates.find(({ templateId }) => templateId === workspace.capture.leadTemplateId);
  assert.deepEqual([message.type, message.template.name], ['template', template.name]);
  await page.context().close();
});

test('from a foreign origin the browser sends nothing, and the page says so', async () => {
  const page = await open(browser, `${stack.foreignLandingUrl}/?captcha=pass-foreign`);
  const requests = await recorded(page);
  const complaints = [];
  page.on('console', (message) => complaints.push(message.text()));
  await fill(page, nextPhone());
  await parts(page).button.click();
  await outcome(page, TRY_AGAIN);
  await look(page, 'foreign');

  assert.ok(complaints.some((text) => text.includes('blocked by CORS policy')), complaints.join('\n'));
  const preflight = requests.find(({ method }) => method === 'OPTIONS');
  assert.equal(preflight.status, 204);
  const post = requests.find(({ method }) => method === 'POST');
  assert.equal(post?.status, undefined, 'the POST must get no response');
  const seen = await tokensSeen();
  assert.ok(!seen.some((token) => token.startsWith('pass-foreign-')), 'the lead must not reach the captcha');
});

test('a lead with a low captcha score is rejected', async () => {
  const page = await open(browser, `${stack.landingUrl}/?captcha=score-0.1`);
  const requests = await recorded(page);
  await fill(page, nextPhone());
  await parts(page).button.click();
  await outcome(page, REJECTED);
  await look(page, 'rejected');
  assert.equal(requests.find(({ method }) => method === 'POST').status, 403);

  // The form keeps its content, and the focus is on the field that the visitor can correct.
  const { button, name, phone, consent } = parts(page);
  assert.equal(await name.inputValue(), 'Ana García');
  assert.ok(await consent.isChecked());
  assert.ok(await button.isEnabled());
  assert.equal(await button.innerText(), 'Write to me');
  assert.ok(await hasFocus(phone));
});

test('while the captcha provider is unavailable, a lead can be sent again with a new token', async () => {
  const page = await open(browser, `${stack.landingUrl}/?captcha=status-500`);
  const requests = await recorded(page);
  await fill(page, nextPhone());
  await parts(page).button.click();
  await outcome(page, TRY_AGAIN);
  await look(page, 'try-again');
  const again = page.getByRole('button', { name: 'Try again' });
  assert.ok(await hasFocus(again));

  await page.evaluate(() => history.replaceState(null, '', '/?captcha=pass'));
  await page.keyboard.press('Enter');
  await outcome(page, ACCEPTED);
  const posts = requests.filter(({ method }) => method === 'POST');
  assert.deepEqual(posts.map(({ status }) => status), [422, 202]);
  const [first, second] = posts.map(({ body }) => JSON.parse(body));
  assert.notEqual(first.recaptchaToken, second.recaptchaToken);
  const constant = ({ workspaceId, captureKey, cellphone, name, consent }) => [
    workspaceId, captureKey, cellphone, name, consent,
  ];
  assert.deepEqual(constant(first), constant(second));
});

test('while a lead is being sent, the button is disabled', async () => {
  // The captcha provider does not answer, so the API times out.
  const page = await open(browser, `${stack.landingUrl}/?captcha=hang`);
  await fill(page, nextPhone());
  const { button } = parts(page);
  await button.click();
  await page.getByRole('button', { name: 'Sending…' }).waitFor();
  assert.ok(await button.isDisabled());
  await look(page, 'sending');
  await outcome(page, TRY_AGAIN);
  assert.ok(await button.isEnabled());
});

test('a number without a country code causes an error message, and nothing is sent', async () => {
  const page = await open(browser, stack.landingUrl);
  const requests = await recorded(page);
  const { phone, consent, button } = parts(page);
  for (const wrong of ['', '600111222', '+34 600', '+34 600 111 222 333 444', 'call me']) {
    await phone.fill(wrong);
    await consent.check();
    await button.click();
    const message = 'Please give your number with its country code, beginning with +.';
    assert.deepEqual(await described(phone), ['With country code, for instance +34 600 111 222', message], wrong);
    assert.equal(await phone.getAttribute('aria-invalid'), 'true', wrong);
    assert.ok(await hasFocus(phone), wrong);
  }
  await look(page, 'wrong-number');

  await phone.fill(nextPhone());
  assert.equal(await phone.getAttribute('aria-invalid'), null, 'the error must disappear when the number is correct');
  assert.deepEqual(requests, []);
});

test('the API rejects a number that is in no numbering plan', async () => {
  const page = await open(browser, stack.landingUrl);
  const requests = await recorded(page);
  await fill(page, '+34 100 000 000');
  await parts(page).button.click();
  await outcome(page, REJECTED);
  assert.equal(requests.find(({ method }) => method === 'POST').status, 400);
});

test('without consent nothing is sent', async () => {
  const page = await open(browser, stack.landingUrl);
  const requests = await recorded(page);
  const { phone, consent, button } = parts(page);
  await phone.fill(nextPhone());
  await button.click();
  assert.deepEqual(await described(consent), ['Please agree, or we may not write to you.']);
  assert.ok(await hasFocus(consent));
  await look(page, 'no-consent');
  assert.deepEqual(requests, []);
});

test('a page load clears the consent', async () => {
  const page = await open(browser, stack.landingUrl);
  await fill(page, nextPhone());
  await page.goto(stack.foreignLandingUrl);
  await page.goBack();
  assert.ok(!(await parts(page).consent.isChecked()));
});

test('the form can be used with the keyboard alone', async () => {
  const page = await open(browser, stack.landingUrl);
  const { name, phone, consent, button, status } = parts(page);
  const press = (key) => page.keyboard.press(key);

  await press('Tab');
  assert.ok(await hasFocus(name));
  await page.keyboard.type('Ana');
  await press('Tab');
  assert.ok(await hasFocus(phone));
  await page.keyboard.type(nextPhone());
  await press('Tab');
  assert.ok(await hasFocus(consent));
  assert.match(await consent.evaluate((field) => getComputedStyle(field).outline), /3px/, 'the focus must be visible');
  await look(page, 'focus');
  await press('Space');
  assert.ok(await consent.isChecked());
  await press('Tab');
  assert.ok(await hasFocus(button));
  await press('Enter');
  await outcome(page, ACCEPTED);
  assert.ok(await hasFocus(status.getByRole('heading')));
});

test('the accessibility tree of the page is complete and in order', async () => {
  const page = await open(browser, stack.landingUrl);
  assert.equal(await page.locator('html').getAttribute('lang'), 'en');
  assert.equal(
    await page.getByRole('region', { name: 'Start with a message' }).ariaSnapshot(),
    [
      '- region "Start with a message":',
      '  - heading "Start with a message" [level=2]',
      '  - text: Name (optional)',
      '  - textbox "Name (optional)"',
      '  - text: Phone number',
      '  - textbox "Phone number"',
      '  - paragraph: With country code, for instance +34 600 111 222',
      '  - checkbox "I agree that Aster Travel writes to me on WhatsApp about my trip."',
      '  - text: I agree that Aster Travel writes to me on WhatsApp about my trip.',
      '  - button "Write to me"',
      '  - status',
    ].join('\n'),
  );
  assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1);
});

test('before its script is there, the form cannot put what the visitor typed into the address', async () => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(stack.landingUrl);
  await parts(page).phone.fill(nextPhone());
  await parts(page).phone.press('Enter');
  assert.ok(await parts(page).button.isDisabled());
  assert.equal(page.url(), `${stack.landingUrl}/`);
});

test('a page without its settings says that it is closed', async () => {
  const page = await open(browser, stack.landingUrl);
  await page.route('**/settings.json', (route) => route.fulfill({ status: 503, body: '' }));
  await page.reload();
  await fill(page, nextPhone());
  await parts(page).button.click();
  await outcome(page, 'This form is closed at the moment');
  await look(page, 'closed');
});

async function hasFocus(element) {
  return element.evaluate((field) => field === document.activeElement);
}

/** The description that a screen reader reads after the field's name. */
async function described(field) {
  return field.evaluate((element) =>
    element
      .getAttribute('aria-describedby')
      .split(' ')
      .map((id) => document.getElementById(id).textContent)
      .filter((text) => text !== ''),
  );
}
