// The portal: every page in both languages, light and dark, on a phone and a desktop; signing in and out; what goes wrong.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';

import { violations } from './axe.js';
import { api, eventsOf, launch, look, stack, until, workspace } from './stack.js';

const PORTAL = `${stack.baseUrl}/portal/index.html`;
const API = `${stack.baseUrl}/service/api/v1/workspaces/${workspace.workspaceId}`;
const DOCUMENT = new URL('../../functions/portal/pages/index.html', import.meta.url);
const PAGES = ['overview', 'webhooks', 'deliveries', 'events', 'leads', 'conversations', 'contacts', 'templates', 'lines', 'users', 'teams', 'onboarding', 'attributes', 'opt-outs', 'opt-out-keywords', 'brands', 'lead-capture', 'api-keys', 'portal-access', 'audit-log'];
const WORDS = {
  en: { signIn: 'Sign in', workspaceId: 'Workspace ID', key: 'API key', conversations: 'Conversations', empty: 'There is no contact yet.', again: 'Try again' },
  es: { signIn: 'Iniciar sesión', workspaceId: 'ID del espacio de trabajo', key: 'Clave de API', conversations: 'Conversaciones', empty: 'Todavía no hay contactos.', again: 'Intentar de nuevo' },
};

/** Sessions that tests ended, with the page of their person. A function may know a key for 30 seconds: the last test looks at them. */
const ended = [];

let browser;
before(async () => (browser = await launch()));
after(() => browser?.close());

/** A tab that complains about errors, violations of the policy and layout shifts. */
async function tab(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-GB', colorScheme: 'light', ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  await watch(page);
  return page;
}

function watch(page) {
  page.complaints = [];
  // Refusals of the API are part of some tests.
  page.on('console', (message) => message.type() === 'error' && !/status of 4\d\d/.test(message.text()) && page.complaints.push(message.text()));
  page.on('pageerror', (error) => page.complaints.push(String(error)));
  return page.addInitScript(() => {
    window.shifts = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifts += entry.value;
    }).observe({ type: 'layout-shift', buffered: true });
    document.addEventListener('securitypolicyviolation', ({ violatedDirective }) => console.error(`policy: ${violatedDirective}`));
  });
}

async function signIn(page, language = 'en', key = workspace.apiKey, of = workspace) {
  const words = WORDS[language];
  await page.goto(`${PORTAL}#/w/${of.workspaceId}`);
  await page.getByLabel(words.key, { exact: true }).fill(key);
  await page.getByRole('button', { name: words.signIn }).click();
  await page.getByRole('banner').getByText(of.name ?? 'Aster').first().waitFor();
}

async function show(page, path) {
  await page.goto(`${PORTAL}#/w/${workspace.workspaceId}/${path}`);
  // The page before stands until the event of the new address was handled.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await loaded(page);
}

/** Waits until nothing on the page holds the place of what is to come. */
const loaded = (page) => page.waitForFunction(() => document.querySelector('main h1') && !document.querySelector('.bone, [aria-busy=true]'));

const problem = (status, code, title, more = {}) => ({
  status,
  contentType: 'application/json',
  headers: { 'x-request-id': 'request-of-the-test' },
  body: JSON.stringify({ title, status, code, ...more }),
});

/** A lead of this number. The simulated provider refuses numbers that end with 0001. */
async function lead(cellphone) {
  const { captureKey, origins } = workspace.capture;
  const answer = await fetch(`${stack.captureUrl}/api/v1/leadscout/campaign-leads`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: origins[0] },
    body: JSON.stringify({
      workspaceId: workspace.workspaceId,
      captureKey,
      cellphone,
      landingUri: `${origins[0]}/spring`,
      consent: { status: 'GRANTED' },
      recaptchaToken: `pass-${crypto.randomUUID()}`,
    }),
  });
  assert.equal(answer.status, 202);
  return (await answer.json()).requestId;
}

/** An endpoint, a delivery, an event, a lead, a conversation, a contact, a template, a user, a team, a line and an attribute of the demo, for the pages of one thing. */
async function things() {
  const { conversations } = await api('GET', '/conversations?pageSize=1');
  const { contacts } = await api('GET', '/contacts?pageSize=1');
  const { templates } = await api('GET', '/templates?pageSize=1');
  const { webhookEndpoints } = await api('GET', '/webhook-endpoints');
  const { teams } = await api('GET', '/teams?pageSize=1');
  const { lines } = await api('GET', '/settings/lines');
  const { customAttributes } = await api('GET', '/settings/attributes');
  const { eventId, deliveryId } = await api('POST', `/webhook-endpoints/${webhookEndpoints[0].id}/test`);
  return [
    ...[`webhooks/${webhookEndpoints[0].id}`, `deliveries/${deliveryId}`, `events/${eventId}`, `leads/${await lead('+34603330001')}`],
    ...[`conversations/${conversations[0].id}`, `contacts/${contacts[0].id}`, `templates/${templates[0].id}`],
    ...[`users/${workspace.users[0].id}`, `teams/${teams[0].id}`, `lines/${lines[0].providerChannelId}`, `attributes/${customAttributes.find(({ category }) => category === 'CLOSED').id}`],
  ];
}

// Each language and each scheme once: colours do not depend on the language.
for (const [language, colorScheme] of [['en', 'light'], ['es', 'dark']]) {
  test(`every page breaks no accessibility rule, fits and stays in place, in ${language} and ${colorScheme}`, async () => {
    const page = await tab({ locale: language, colorScheme });
    await page.goto(PORTAL);
    await look(page, `portal-sign-in-${language}-${colorScheme}`);
    assert.deepEqual(await violations(page), [], 'sign-in');
    await signIn(page, language);
    for (const path of [...PAGES, ...(await things()), 'no-such-page']) {
      await page.setViewportSize({ width: 1280, height: 800 });
      await page.evaluate(() => (window.shifts = 0));
      await show(page, path);
      assert.ok((await page.evaluate(() => window.shifts)) < 0.01, `${path} shifts`);
      await look(page, `portal-${path.split('/').join('-')}-${language}-${colorScheme}`, false);
      assert.deepEqual(await violations(page), [], `${path} on a desktop`);
      await page.setViewportSize({ width: 360, height: 740 });
      await page.evaluate(() => (window.shifts = 0));
      await page.reload();
      await loaded(page);
      assert.ok((await page.evaluate(() => window.shifts)) < 0.01, `${path} shifts on a phone`);
      assert.deepEqual(await violations(page), [], `${path} on a phone`);
      assert.equal(await page.evaluate(() => document.documentElement.lang), language);
    }
    assert.deepEqual(page.complaints, []);
  });
}

test('the dialogs break no accessibility rule, and the keyboard opens, leaves and gives back', async () => {
  const page = await tab();
  await signIn(page);
  for (const [path, button] of [
    ['api-keys', 'Create a key'],
    ['api-keys', 'API call'],
    ['portal-access', 'Link for a colleague'],
    ['leads', 'Retry failed leads …'],
    ['users', 'Create a user'],
    ['teams', 'Create a team'],
    ['attributes', 'Create an attribute'],
    ['opt-outs', 'Opt a number out'],
    ['lead-capture', 'Edit'],
  ]) {
    await show(page, path);
    const opener = page.getByRole('button', { name: button });
    await opener.focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.waitFor();
    assert.ok(await dialog.evaluate((element) => element.contains(document.activeElement)), `${button}: the focus goes in`);
    assert.deepEqual(await violations(page), [], button);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    assert.ok(await opener.evaluate((element) => element === document.activeElement), `${button}: the focus comes back`);
  }
  assert.deepEqual(page.complaints, []);
});

test('the keyboard reaches everything on a page and leaves it', async () => {
  const page = await tab();
  await signIn(page);
  await page.evaluate(() => {
    document.addEventListener('focusin', ({ target }) => window.seen?.reached.add(target));
    document.addEventListener('focusout', ({ relatedTarget }) => window.seen && (window.seen.left += relatedTarget === null));
  });
  for (const path of PAGES) {
    await show(page, path);
    const expected = await page.evaluate(() => {
      const all = [...document.querySelectorAll('a[href], button:not(:disabled), input, select, summary, [tabindex="0"]')];
      return all.filter((element) => element.checkVisibility()).length;
    });
    await page.evaluate(() => (window.seen = { reached: new Set(), left: 0 }));
    let left = 0;
    // Once round, from the heading to the heading: the browser's own controls lie between the last and the first.
    // A moment has a stop for each of its parts.
    for (let presses = 0; presses < 4 * expected && left < 2; presses += 5) {
      for (let each = 0; each < 5; each++) await page.keyboard.press('Tab');
      left = await page.evaluate(() => window.seen.left);
    }
    assert.ok(left > 0, `${path}: the focus leaves the page`);
    assert.equal(await page.evaluate(() => window.seen.reached.size), expected, path);
  }
  await page.getByText('Skip to content').focus();
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.tagName), 'H1');
});

test('on a phone the menu opens, leads to a page and closes', async () => {
  const page = await tab({ viewport: { width: 360, height: 740 } });
  await signIn(page);
  await show(page, 'contacts');
  const menu = page.getByRole('button', { name: 'Menu' });
  assert.equal(await page.getByRole('link', { name: 'Templates' }).isVisible(), false);
  await menu.click();
  assert.equal(await menu.getAttribute('aria-expanded'), 'true');
  await page.getByRole('link', { name: 'Templates' }).click();
  await page.getByRole('heading', { name: 'Templates', level: 1 }).waitFor();
  assert.equal(await menu.getAttribute('aria-expanded'), 'false');
});

test('the token of a link leaves the address and the history before the first request', async () => {
  const { url } = await api('POST', '/portal-links', { role: 'VIEWER', subject: 'vera@example.com' });
  const token = url.split('/').at(-1);
  const page = await tab();
  const addresses = [];
  page.on('request', (request) => addresses.push([request.url(), page.url()]));
  await page.goto(PORTAL.replace('index.html', 'reference.html'));
  addresses.length = 0;
  await page.goto(url);
  await page.getByRole('navigation').waitFor();
  assert.ok(page.url().includes(workspace.workspaceId) && !page.url().includes(token), page.url());
  for (const [asked, address] of addresses.slice(1)) {
    assert.ok(!asked.includes(token), asked);
    assert.ok(!address.includes(token) || asked.endsWith('/portal/index.html'), `${asked} was sent from ${address}`);
  }
  const kept = await page.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }, history.state, document.documentElement.outerHTML]));
  assert.ok(!kept.includes(token));
  await page.goBack();
  await page.goForward();
  assert.ok(!page.url().includes(token), page.url());

  // A viewer is offered nothing that the role does not allow, and the address does not help.
  await show(page, 'templates');
  assert.equal(await page.getByRole('banner').getByText('Viewer').count(), 1);
  assert.equal(await page.getByRole('banner').getByText('vera@example.com').count(), 1);
  const offered = await page.getByRole('navigation').getByRole('link').allInnerTexts();
  assert.deepEqual(offered.filter((name) => ['Conversations', 'Contacts', 'API keys', 'Portal access', 'Audit log'].includes(name)), []);
  await show(page, 'api-keys');
  await page.getByText('Your role does not allow this.').waitFor();

  // The link was used.
  const second = await tab();
  await second.goto(url);
  await second.getByText('A link works once and only for a short time.').waitFor();
  assert.deepEqual(await violations(second), []);
  assert.deepEqual([...page.complaints, ...second.complaints], []);
});

test('a link that asks to be confirmed is not spent before a press', async () => {
  const { url } = await api('POST', '/portal-links', { role: 'VIEWER', confirm: true });
  const page = await tab();
  const asked = [];
  page.on('request', (request) => asked.push(request.url()));
  await page.goto(url);
  await page.getByText('The link works once.').waitFor();
  assert.deepEqual(asked.filter((one) => one.includes('/service/')), []);
  assert.ok(!page.url().includes('msk_'), page.url());
  assert.deepEqual(await violations(page), []);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation').waitFor();
});

test('a reload keeps the session, a closed tab forgets it, and signing out ends it', async () => {
  const page = await tab();
  await signIn(page);
  await page.reload();
  await page.getByRole('navigation').waitFor();
  const { apiKey } = await page.evaluate(() => JSON.parse(sessionStorage.getItem('portal.session')));
  assert.notEqual(apiKey, workspace.apiKey, 'the key is exchanged and not kept');
  const other = await page.context().newPage();
  await other.goto(page.url());
  await other.getByRole('heading', { name: 'Sign in' }).waitFor();
  assert.equal(await other.evaluate(() => Object.keys({ ...localStorage }).includes('portal.session')), false);

  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('You are signed out.').waitFor();
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
  ended.push({ apiKey });
});

test('a page that may not store anything still signs in', async () => {
  const page = await tab();
  await page.addInitScript(() => {
    for (const name of ['sessionStorage', 'localStorage']) {
      Object.defineProperty(window, name, { get: () => { throw new DOMException('forbidden', 'SecurityError'); } });
    }
  });
  await signIn(page);
  await show(page, 'contacts');
  assert.deepEqual(page.complaints, []);
});

test('the app of a deployment shows the portal in a frame, and another site does not', async (t) => {
  // The browser takes a site of the internet that shows one of this machine for an attack.
  const browser = await launch({ args: ['--disable-features=LocalNetworkAccessChecks'] });
  t.after(() => browser.close());
  for (const [host, isAllowed] of [['app.example.com', true], ['evil.example.com', false]]) {
    const { url } = await api('POST', '/portal-links', { role: 'VIEWER', subject: 'vera@example.com', returnUrl: 'https://app.example.com/settings' });
    const page = await (await browser.newContext({ locale: 'en-GB' })).newPage();
    await page.route('https://*.example.com/**', (route) => route.fulfill({ contentType: 'text/html', body: `<iframe width="1200" height="700" src="${url}"></iframe>` }));
    const refused = page.waitForEvent('console', (message) => /frame-ancestors/.test(message.text()));
    // Without a handler, a refusal that never comes would end the process.
    refused.catch(() => {});
    await page.goto(`https://${host}/`);
    const inner = page.frameLocator('iframe');
    if (!isAllowed) {
      await refused;
      assert.equal(await inner.getByRole('navigation').count(), 0);
      continue;
    }
    await inner.getByRole('banner').getByText('vera@example.com').waitFor();
    await inner.getByRole('link', { name: 'Templates' }).click();
    await inner.getByRole('heading', { name: 'Templates', level: 1 }).waitFor();
    await inner.getByRole('link', { name: 'API reference' }).click();
    await inner.getByRole('heading', { level: 1 }).filter({ hasNotText: 'Templates' }).waitFor();
    await page.evaluate(() => history.back());
    await inner.getByRole('link', { name: 'Back to the application' }).click();
    await page.waitForURL('https://app.example.com/settings');
  }
});

test('an ended session leads to the sign-in page and back to the page that was asked for', async () => {
  const page = await tab();
  await signIn(page);
  await show(page, 'contacts');
  await page.route('**/service/**', (route) => route.fulfill(problem(403, 'SERVICE_CORE_0301', 'Forbidden')));
  await page.getByRole('link', { name: 'Templates' }).click();
  await page.getByText('Your session has ended. Sign in again.').waitFor();
  assert.deepEqual(await violations(page), []);
  await page.unroute('**/service/**');
  await page.getByLabel('API key', { exact: true }).fill(workspace.apiKey);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Templates', level: 1 }).waitFor();
});

test('a refusal of a session that lives says that the role does not allow it', async () => {
  const page = await tab();
  await signIn(page);
  await page.route('**/contacts?**', (route) => route.fulfill(problem(403, 'SERVICE_CORE_0301', 'Forbidden')));
  await page.route('**/contacts', (route) => route.fulfill(problem(403, 'SERVICE_CORE_0301', 'Forbidden')));
  await show(page, 'contacts');
  await page.getByText('Your role does not allow this.').waitFor();
});

test('a wrong key is refused without a hint', async () => {
  const page = await tab();
  await page.goto(`${PORTAL}#/w/${workspace.workspaceId}`);
  await page.getByLabel('API key', { exact: true }).fill('msk_wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').waitFor();
  assert.match(await page.getByRole('alert').innerText(), /not accepted[\s\S]*SERVICE_CORE_0301/);
  assert.deepEqual(await violations(page), []);
});

for (const language of ['en', 'es']) {
  test(`empty, failed and slow lists say so, in ${language}`, async () => {
    const words = WORDS[language];
    const page = await tab({ locale: language });
    await signIn(page, language);
    let answer = (route) => route.fulfill({ status: 200, contentType: 'application/json', body: '{"contacts":[],"cursor":""}' });
    await page.route(/\/contacts(\?|$)/, (route) => answer(route));
    await show(page, 'contacts');
    await page.getByText(words.empty).waitFor();
    assert.deepEqual(await violations(page), [], 'empty');

    answer = (route) => route.fulfill(problem(503, 'SERVICE_CORE_0503', 'Service Unavailable'));
    await page.reload();
    await page.getByRole('alert').waitFor();
    assert.match(await page.getByRole('alert').innerText(), /SERVICE_CORE_0503 · X-Request-Id request-of-the-test/);
    assert.deepEqual(await violations(page), [], 'failed');

    answer = (route) => route.abort();
    await page.getByRole('button', { name: words.again }).click();
    await page.getByText(language === 'en' ? 'The service did not answer' : 'El servicio no respondió').waitFor();

    let release;
    const held = new Promise((resolve) => (release = resolve));
    answer = async (route) => {
      await held;
      await route.continue();
    };
    await page.getByRole('button', { name: words.again }).click();
    await page.locator('.bone').first().waitFor();
    assert.deepEqual(await violations(page), [], 'loading');
    release();
    await loaded(page);
    assert.ok((await page.getByRole('row').count()) > 1);
  });
}

test('what customers write is text and nothing else', async () => {
  const page = await tab();
  await signIn(page);
  const evil = `<img src=x onerror=alert(1)><script>alert(2)</script> \u202Eright to left\u2066 \u0007`;
  const contact = {
    ...(await api('GET', '/contacts?pageSize=1')).contacts[0],
    firstName: evil,
    lastName: '\uD800 alone',
    email: 'x'.repeat(254),
    externalId: 'y'.repeat(256 * 1024),
  };
  page.on('dialog', (dialog) => page.complaints.push(dialog.message()));
  await page.route(/\/contacts(\?|$)/, (route) => route.fulfill({ json: { contacts: [contact], cursor: '' } }));
  await page.route(/\/contacts\/[^/]+$/, (route) => route.fulfill({ body: JSON.stringify(contact), contentType: 'application/json' }));
  await show(page, 'contacts');
  const name = page.getByRole('row').nth(1).getByRole('link');
  assert.match(await name.innerText(), /<img src=x onerror=alert\(1\)><script>.*\\u202eright to left\\u2066 \\u0007/);
  assert.match(await name.innerText(), /\\ud800 alone/);
  await look(page, 'portal-hostile', false);
  await name.click();
  await page.getByText('y'.repeat(100)).waitFor();
  await look(page, 'portal-hostile-one', false);
  assert.equal(await page.locator('main img, main script').count(), 0);
  const thrown = await page.evaluate(() => {
    try {
      document.body.innerHTML = '<b>x</b>';
      return null;
    } catch (error) {
      return error.name;
    }
  });
  assert.equal(thrown, 'TypeError', 'the policy forbids markup from a text');
  assert.deepEqual(page.complaints.filter((one) => !/TrustedHTML|require-trusted-types-for/.test(one)), []);
});

test('a key is created, shown once, renamed beside somebody else, revoked, and the audit log says so', async () => {
  const page = await tab({ permissions: ['clipboard-read', 'clipboard-write'] });
  await signIn(page);
  await show(page, 'api-keys');
  await page.getByRole('button', { name: 'Create a key' }).click();
  const dialog = page.getByRole('dialog');
  const name = `browser ${Date.now()}`;
  await dialog.getByRole('textbox', { name: 'Name' }).fill(name);
  await dialog.getByRole('button', { name: 'Create a key' }).click();
  await dialog.getByText('Choose at least one.').waitFor();
  await dialog.getByRole('checkbox', { name: 'contacts:read' }).check();
  await dialog.getByRole('button', { name: 'Create a key' }).click();
  await dialog.getByText('This is shown only now.').waitFor();
  assert.deepEqual(await violations(page), []);
  const secret = await dialog.locator('.secret code').innerText();
  await dialog.getByRole('button', { name: 'Copy: API key' }).click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), secret);
  for (let presses = 0; presses < 3; presses++) await page.keyboard.press('Escape');
  // The browser closes the dialog at the second press, and the page opens it again.
  await dialog.getByText(secret).waitFor();
  assert.ok(await dialog.getByText(secret).isVisible(), 'Escape does not lose the secret');
  await dialog.getByRole('checkbox', { name: 'I saved it' }).check();
  await dialog.getByRole('button', { name: 'Done' }).click();
  assert.equal((await fetch(`${API}/contacts`, { headers: { 'x-api-key': secret } })).status, 200);
  assert.ok(!(await page.content()).includes(secret));

  // Somebody else renames it meanwhile.
  await page.getByRole('button', { name: `Rename: ${name}` }).click();
  const field = dialog.getByRole('textbox', { name: 'Name' });
  await field.waitFor();
  const { id } = (await everyKey()).find((key) => key.name === name);
  await api('PATCH', `/api-keys/${id}`, { name: `${name} theirs` });
  await field.fill(`${name} mine`);
  await dialog.getByRole('button', { name: 'Rename' }).click();
  await dialog.getByText('Somebody changed this').waitFor();
  await dialog.getByText(`${name} theirs`).waitFor();
  assert.deepEqual(await violations(page), [], 'stale');
  await look(page, 'portal-stale', false);
  await page.setViewportSize({ width: 1280, height: 800 });
  await dialog.getByRole('button', { name: 'Rename' }).click();
  await dialog.waitFor({ state: 'detached' });
  assert.ok((await everyKey()).some((key) => key.name === `${name} mine`));

  await page.getByRole('button', { name: `Revoke: ${name} mine` }).click();
  await dialog.getByText('Nobody can undo this.').waitFor();
  await dialog.getByRole('button', { name: 'Revoke', exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
  assert.ok((await everyKey()).find((key) => key.id === id).revokedAt);
  await page.getByRole('button', { name: 'API call' }).click();
  const command = await dialog.locator('pre').first().innerText();
  assert.match(command, /^curl .*\/api-keys/);
  assert.ok(!command.includes('msk_') && command.includes('"x-api-key: $API_KEY"'));
  await page.getByRole('button', { name: 'Close' }).click();

  await show(page, `audit-log?subjectId=${id}`);
  await until('the audit log has the three changes', async () => {
    const rows = await page.getByRole('row').allInnerTexts();
    return ['Key created', 'Key changed', 'Key revoked'].every((change) => rows.some((row) => row.includes(change)));
  });
});

async function everyKey() {
  const keys = [];
  let cursor = '';
  do {
    const page = await api('GET', `/api-keys?pageSize=100${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
    keys.push(...page.apiKeys);
    ({ cursor } = page);
  } while (cursor);
  return keys;
}

test('an admin makes a link for a colleague, sees the session and ends it', async () => {
  const page = await tab();
  await signIn(page);
  await show(page, 'portal-access');
  await page.getByRole('button', { name: 'Link for a colleague' }).click();
  const dialog = page.getByRole('dialog');
  const subject = `dev${Date.now()}@example.com`;
  await dialog.getByLabel('For whom').fill(subject);
  await dialog.getByLabel('Role').selectOption('DEVELOPER');
  await dialog.getByRole('button', { name: 'Make the link' }).click();
  const url = await dialog.locator('.secret code').innerText();
  await dialog.getByRole('button', { name: 'Done' }).click();
  const colleague = await tab();
  await colleague.goto(url);
  await colleague.getByRole('button', { name: 'Sign in' }).click();
  await colleague.getByRole('banner').getByText('Developer').waitFor();

  await page.reload();
  await page.getByRole('button', { name: `End: ${subject}` }).click();
  await dialog.getByRole('button', { name: 'End', exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
  const { apiKey } = await colleague.evaluate(() => JSON.parse(sessionStorage.getItem('portal.session')));
  ended.push({ apiKey, page: colleague });
  assert.deepEqual([...page.complaints, ...colleague.complaints], []);
});

test('language, colours and clock are remembered', async () => {
  const page = await tab();
  await signIn(page);
  await show(page, 'audit-log');
  await page.getByRole('button', { name: 'Español' }).click();
  await page.getByRole('button', { name: 'Oscuro' }).click();
  await page.getByRole('button', { name: 'UTC' }).click();
  await page.reload();
  await page.getByRole('heading', { name: 'Registro de cambios' }).waitFor();
  assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme), 'dark');
  await loaded(page);
  assert.match(await page.locator('time').first().innerText(), /UTC$/);
});

test('the document has at most 60 KB and is not asked for twice', async () => {
  assert.ok(gzipSync(readFileSync(DOCUMENT), { level: 6 }).length <= 60 * 1024);
  const answer = await fetch(PORTAL);
  assert.equal(await answer.text(), readFileSync(DOCUMENT, 'utf8'));
  const again = await fetch(PORTAL, { headers: { 'if-none-match': answer.headers.get('etag') } });
  assert.equal(again.status, 304);
  const home = await fetch(`${stack.baseUrl}/portal`, { redirect: 'manual' });
  assert.deepEqual([home.status, new URL(home.headers.get('location'), home.url).href], [302, PORTAL]);
  const page = await tab();
  const asked = [];
  page.on('request', (request) => asked.push(request.url()));
  await page.goto(PORTAL);
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  assert.deepEqual(asked, [PORTAL]);
});

test('an endpoint is created, its secret shown once and rotated, and it is disabled and deleted', async () => {
  const page = await tab();
  await signIn(page);
  await show(page, 'webhooks');
  await page.getByRole('button', { name: 'Create an endpoint' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox', { name: 'URL' }).fill('http://127.0.0.1/');
  await dialog.getByLabel('Your key').fill('the-key-of-the-test');
  await dialog.getByRole('combobox', { name: 'Events' }).selectOption('some');
  await dialog.getByRole('checkbox', { name: 'lead.failed' }).check();
  await dialog.getByRole('button', { name: 'Create an endpoint' }).click();
  await dialog.getByRole('alert').waitFor();
  assert.equal(await dialog.getByRole('textbox', { name: 'URL' }).getAttribute('aria-invalid'), 'true');
  assert.deepEqual(await violations(page), [], 'a failed form');
  await dialog.getByRole('textbox', { name: 'URL' }).fill(`https://hooks.example.com/${Date.now()}`);
  await dialog.getByLabel('Description').fill('Browser test');
  await dialog.getByRole('button', { name: 'Create an endpoint' }).click();
  await dialog.getByText('This is shown only now.').waitFor();
  const secret = await dialog.locator('.secret code').innerText();
  assert.match(secret, /^whsec_/);
  await dialog.getByRole('checkbox', { name: 'I saved it' }).check();
  await dialog.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('heading', { name: 'Browser test', level: 1 }).waitFor();
  assert.ok(!(await page.content()).includes(secret));

  await page.getByRole('button', { name: 'API call' }).click();
  assert.ok(!(await dialog.innerText()).includes('the-key-of-the-test'));
  await dialog.getByRole('button', { name: 'Close' }).click();

  await page.getByRole('button', { name: 'Rotate' }).click();
  await dialog.getByRole('button', { name: 'Rotate' }).click();
  await dialog.getByText('This is shown only now.').waitFor();
  assert.notEqual(await dialog.locator('.secret code').innerText(), secret);
  await dialog.getByRole('checkbox', { name: 'I saved it' }).check();
  await dialog.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('button', { name: 'Activate' }).click();
  await dialog.getByRole('button', { name: 'Activate' }).click();
  await page.getByText('The old secret signs too, until').waitFor();

  await page.getByRole('button', { name: 'Edit' }).click();
  await dialog.getByLabel('Description').fill('Renamed test');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'Renamed test', level: 1 }).waitFor();

  await page.getByRole('button', { name: 'Disable' }).click();
  await dialog.getByRole('button', { name: 'Disable' }).click();
  await page.getByText('It was disabled here or by API').waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await dialog.getByText('Nobody can undo this.').waitFor();
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor();
  await loaded(page);
  assert.equal(await page.getByText('Renamed test').count(), 0);
  assert.deepEqual(page.complaints, []);
});

test('a test is sent, its answer shown on the same screen, and its delivery made again', async () => {
  const { webhookEndpoints } = await api('GET', '/webhook-endpoints');
  const page = await tab();
  await signIn(page);
  await show(page, `webhooks/${webhookEndpoints[0].id}`);
  await page.getByRole('button', { name: 'Send a test' }).click();
  const tested = page.getByRole('status').filter({ hasText: 'Test:' });
  await tested.getByText('Delivered').waitFor();
  assert.deepEqual(await violations(page), [], 'a test that was delivered');
  await tested.getByRole('link', { name: 'Show the delivery' }).click();
  await page.getByRole('heading', { name: 'webhook.test', level: 1 }).waitFor();
  await loaded(page);
  await page.getByText('hidden').first().waitFor();
  assert.match(await page.getByRole('main').innerText(), /webhook\.test[^]*payload/, 'the body as signed');

  await show(page, `webhooks/${webhookEndpoints[0].id}`);
  const dialog = page.getByRole('dialog');
  for (const what of ['Replay', 'Recover']) {
    await page.getByRole('button', { name: `${what} …` }).click();
    assert.equal(await dialog.getByLabel('Until').count(), what === 'Replay' ? 1 : 0);
    await dialog.getByRole('button', { name: what, exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText(what, { exact: true }).first().waitFor();
  }

  await show(page, 'deliveries');
  await page.getByLabel('State').selectOption('DELIVERED');
  await page.getByLabel('Event type').selectOption('webhook.test');
  await page.getByRole('cell', { name: 'webhook.test' }).first().waitFor();
  const { id, description, url } = webhookEndpoints[0];
  const endpoint = page.getByRole('row').nth(1).getByRole('link', { name: description || url.replace('https://', '') });
  assert.match(await endpoint.getAttribute('href'), new RegExp(`/webhooks/${id}$`));
  await show(page, 'events');
  await page.getByLabel('Event type').selectOption('webhook.test');
  await page.getByRole('cell', { name: 'webhook.test' }).first().waitFor();
  assert.deepEqual(page.complaints, []);
});

test('a lead that failed is found, says why, and is retried after a question', async () => {
  const id = await lead('+34604440001');
  await until('the lead fails', async () => (await api('GET', `/leads/${id}`)).state === 'FAILED');
  const page = await tab();
  await signIn(page);
  await show(page, 'leads');
  await page.getByLabel('State').selectOption('FAILED');
  await page.getByRole('cell', { name: '131026' }).first().waitFor();
  await show(page, `leads/${id}`);
  await page.getByRole('heading', { name: '+34604440001', level: 1 }).waitFor();
  await page.getByText('Failed', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Retry' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('the visitor gets a new message').waitFor();
  assert.deepEqual(await violations(page), [], 'the question');
  await dialog.getByRole('button', { name: 'Retry' }).click();
  await dialog.waitFor({ state: 'detached' });
  await show(page, 'audit-log');
  await page.getByRole('cell', { name: 'Lead retried' }).first().waitFor();
  assert.deepEqual(page.complaints, []);
});

const consent = { status: 'GRANTED', text: 'I agree.', capturedAt: null, receivedAt: '2026-01-02T03:04:05.678Z' };
const aLead = (id, state, error, more = {}) => ({
  ...{ id, state, error, errorInWords: error && `words of ${error}`, errorDetail: null, cellphone: '+34600111222', name: 'Ana', brandId: 'brand' },
  ...{ landingUri: 'https://www.example.com/', utm: { utm_campaign: 'spring' }, consent, contactId: null, conversationId: null, messageId: null },
  ...{ createdAt: '2026-01-02T03:04:05.678Z', updatedAt: '2026-01-02T03:04:05.678Z', ...more },
});
const json = (body, status = 200) => ({ status, contentType: 'application/json', body: JSON.stringify(body) });

test('an unknown lead is retried only if its message may be sent twice, and a refusal says why', async () => {
  const page = await tab();
  await signIn(page);
  const asked = [];
  const leads = [aLead('1', 'UNKNOWN', 'NO_ANSWER'), aLead('2', 'FAILED', '999999'), aLead('3', 'SENT', null)];
  await page.route(/\/leads(\?|$)/, (route) => route.fulfill(json({ leads, cursor: null })));
  await page.route('**/leads/*/retry', (route) => {
    asked.push(route.request().postDataJSON());
    const refused = problem(409, 'SERVICE_LEAD_0409', 'Lead Not Retried', { extra: { state: 'FAILED', reason: 'OPTED_OUT' } });
    return route.fulfill(route.request().url().includes('/1/') ? json(aLead('1', 'QUEUED', null)) : refused);
  });
  await show(page, 'leads');
  assert.equal(await page.getByRole('button', { name: 'Retry: ' }).count(), 2, 'a lead that was sent has no retry');
  await page.getByText('words of 999999').waitFor();
  const dialog = page.getByRole('dialog');
  await page.getByRole('button', { name: 'Retry: ' }).first().click();
  await dialog.getByText('a second time').waitFor();
  await dialog.getByRole('button', { name: 'Retry anyway' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('cell', { name: 'Queued' }).waitFor();
  await page.getByRole('button', { name: 'Retry: ' }).click();
  await dialog.getByRole('button', { name: 'Retry', exact: true }).click();
  await dialog.getByText('The number has opted out.').waitFor();
  assert.deepEqual(await violations(page), [], 'a refusal');
  assert.deepEqual(asked, [{ maySendTwice: true }, { maySendTwice: false }]);
  assert.deepEqual(page.complaints, []);
});

test('failed leads are retried page by page until none is left', async () => {
  const page = await tab();
  await signIn(page);
  const asked = [];
  const answers = [
    { retried: ['1', '2'], refused: [{ id: '3', reason: 'OPTED_OUT' }], cursor: 'next' },
    { retried: ['4'], refused: [], cursor: null },
  ];
  await page.route('**/lead-retries', (route) => {
    asked.push(route.request().postDataJSON());
    return route.fulfill(json(answers.shift()));
  });
  await show(page, 'leads');
  await page.getByRole('button', { name: 'Retry failed leads …' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Also unknown ones').check();
  await dialog.getByRole('button', { name: 'Retry', exact: true }).click();
  await dialog.getByText('3 retried, 1 not. No failed lead is left.').waitFor();
  const body = { states: ['FAILED', 'UNKNOWN'], maySendTwice: true, limit: 50 };
  assert.deepEqual(asked, [body, { ...body, cursor: 'next' }]);
  await dialog.getByRole('button', { name: 'Done' }).click();
  await dialog.waitFor({ state: 'detached' });
  assert.deepEqual(page.complaints, []);
});

test('the shown leads are saved as CSV without formulas, and hostile names stay text', async () => {
  const page = await tab();
  await signIn(page);
  const hostile = aLead('1', 'SENT', null, { name: '=cmd|"x"', utm: { utm_source: '@a;=b', gclid: '-1+2' }, consent: { ...consent, text: 'one,\ntwo' } });
  await page.route(/\/leads(\?|$)/, (route) => route.fulfill(json({ leads: [hostile], cursor: null })));
  await show(page, 'leads');
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save as CSV' }).click()]);
  assert.equal(download.suggestedFilename(), 'leads.csv');
  const [header, ...rows] = readFileSync(await download.path(), 'utf8').split('\r\n');
  assert.match(header, /^\ufeffid,createdAt,state,error,name,cellphone,/);
  assert.deepEqual(rows, [
    `1,2026-01-02T03:04:05.678Z,SENT,,"'=cmd|""x""",+34600111222,brand,https://www.example.com/,"'@a;'=b",,,,,gclid=-1+2,GRANTED,,2026-01-02T03:04:05.678Z,"one,\ntwo",,`,
    '',
  ]);
  assert.deepEqual(page.complaints, []);
});

test('a user is created, changed beside somebody else and disabled, and a taken e-mail leads to its user', async () => {
  const page = await tab();
  await signIn(page);
  await show(page, 'users');
  const dialog = page.getByRole('dialog');
  const email = `nora${Date.now()}@example.com`;
  const create = async (address) => {
    await page.getByRole('button', { name: 'Create a user' }).click();
    await dialog.getByLabel('E-mail').fill(address);
    await dialog.getByLabel('First name').fill('Nora');
    await dialog.getByLabel('Language').selectOption('EN');
  };
  await create(email);
  await dialog.getByLabel('Phone').fill('600111222');
  await dialog.getByRole('button', { name: 'Create a user' }).click();
  await dialog.getByRole('alert').waitFor();
  assert.equal(await dialog.getByLabel('Phone').getAttribute('aria-invalid'), 'true');
  assert.deepEqual(await violations(page), [], 'a failed form');
  await dialog.getByLabel('Phone').fill('+34600111222');
  await dialog.getByRole('button', { name: 'Create a user' }).click();
  await page.getByRole('heading', { name: 'Nora', level: 1 }).waitFor();
  await loaded(page);
  const id = page.url().split('/').at(-1);
  const { users } = await api('GET', `/users?search=${encodeURIComponent(email)}`);
  assert.deepEqual(users.map(({ id, firstName, lastName, cellphone, languageCode }) => [id, firstName, lastName, cellphone, languageCode]), [[id, 'Nora', null, '+34600111222', 'EN']]);

  // Somebody else changes the name meanwhile. Only the last name is sent, over the present version.
  await page.getByRole('button', { name: 'Edit' }).click();
  await api('PATCH', `/users/${id}`, { firstName: 'Nora Theirs' });
  await dialog.getByLabel('Last name').fill('Mine');
  await dialog.getByLabel('Phone').fill('');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByText('Nora Theirs').waitFor();
  assert.deepEqual(await violations(page), [], 'stale');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('heading', { name: 'Nora Theirs Mine', level: 1 }).waitFor();
  assert.equal((await api('GET', `/users/${id}`)).cellphone, null);

  await page.getByRole('button', { name: 'Disable' }).click();
  await dialog.getByText('No new contact or conversation can be assigned').waitFor();
  await dialog.getByRole('button', { name: 'Disable' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('main').getByText('Disabled', { exact: true }).waitFor();
  assert.equal((await api('GET', `/users/${id}`)).status, 'disabled');
  await page.getByRole('button', { name: 'Enable' }).click();
  await dialog.getByRole('button', { name: 'Enable' }).click();
  await page.getByRole('main').getByText('Active', { exact: true }).waitFor();

  await show(page, 'users');
  await create(email.toUpperCase());
  await dialog.getByRole('button', { name: 'Create a user' }).click();
  await dialog.getByRole('link', { name: 'Show the user who has it' }).click();
  await page.getByRole('heading', { name: 'Nora Theirs Mine', level: 1 }).waitFor();
  await show(page, `audit-log?subjectId=${id}`);
  await until('the audit log has the changes', async () => {
    const rows = await page.getByRole('row').allInnerTexts();
    return ['User created', 'User changed'].every((change) => rows.some((row) => row.includes(change)));
  });
  assert.deepEqual(page.complaints, []);
});

test('a team is created, gets and loses a member, is renamed beside somebody else, and is deleted when it is empty', async () => {
  const page = await tab();
  await signIn(page);
  await show(page, 'teams');
  const dialog = page.getByRole('dialog');
  const name = `Night desk ${Date.now()}`;
  await page.getByRole('button', { name: 'Create a team' }).click();
  await dialog.getByLabel('Name').fill(name);
  await dialog.getByRole('button', { name: 'Create a team' }).click();
  await page.getByRole('heading', { name, level: 1 }).waitFor();
  await page.getByText('The team has no members').waitFor();
  const id = page.url().split('/').at(-1);
  const members = async () => (await api('GET', `/teams/${id}`)).members.map(({ email }) => email);

  await page.getByRole('button', { name: 'Add members' }).click();
  await dialog.getByLabel('Search name').fill('bram');
  await dialog.getByLabel('Search name').press('Enter');
  await until('one user is found', async () => (await dialog.getByRole('row').count()) === 2);
  const add = dialog.getByRole('button', { name: 'Add: bram.visser@aster.example.com' });
  await add.focus();
  await page.keyboard.press('Enter');
  await dialog.getByRole('button', { name: 'Member: bram.visser' }).waitFor();
  assert.ok(await dialog.getByRole('button', { name: 'Member: bram.visser' }).evaluate((element) => element === document.activeElement), 'the focus stays');
  assert.deepEqual(await violations(page), [], 'a member is added');
  assert.deepEqual(await members(), ['bram.visser@aster.example.com']);
  await dialog.getByRole('button', { name: 'Done' }).click();

  // It is not deleted while it has members.
  await page.getByRole('button', { name: 'Delete' }).click();
  await dialog.getByText('The team has 1 member.').waitFor();
  assert.equal(await dialog.getByRole('button', { name: 'Delete' }).count(), 0);
  await dialog.getByRole('button', { name: 'Close' }).click();

  await page.getByRole('button', { name: 'Rename' }).click();
  await api('PATCH', `/teams/${id}`, { name: `${name} theirs` });
  await dialog.getByLabel('Name').fill(`${name} mine`);
  await dialog.getByRole('button', { name: 'Rename' }).click();
  await dialog.getByText(`${name} theirs`).waitFor();
  await dialog.getByRole('button', { name: 'Rename' }).click();
  await page.getByRole('heading', { name: `${name} mine`, level: 1 }).waitFor();

  await page.getByRole('button', { name: 'Remove: bram.visser@aster.example.com' }).click();
  await page.getByText('The team has no members').waitFor();
  await page.getByText('bram.visser@aster.example.com is no longer a member.').waitFor({ state: 'attached' });
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Members');
  assert.deepEqual(await members(), []);

  // Somebody else adds a member between the question and the answer.
  await page.getByRole('button', { name: 'Delete' }).click();
  await api('PATCH', `/teams/${id}`, { members: { add: [{ identifier: workspace.users[0].id, identifierType: 'ID' }] } });
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await dialog.getByText('Somebody changed this').waitFor();
  await dialog.getByRole('button', { name: 'Show the present version' }).click();
  await page.getByRole('button', { name: 'Remove: ' }).click();
  await page.getByText('The team has no members').waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('heading', { name: 'Teams', level: 1 }).waitFor();
  await loaded(page);
  assert.equal(await page.getByText(name).count(), 0);
  assert.deepEqual(page.complaints, []);
});

test('the keyboard alone changes the onboarding sequence, a stale one shows both versions, and a refusal names its template', async () => {
  const before = await api('GET', '/settings/onboarding');
  const page = await tab();
  await signIn(page);
  await show(page, 'onboarding');
  const steps = async () => (await page.getByRole('list', { name: 'Onboarding' }).getByRole('link').allInnerTexts()).join(' ');
  const focused = () => page.evaluate(() => document.activeElement.getAttribute('aria-label'));
  assert.equal(await steps(), 'trip_hello welcome');
  assert.ok(await page.getByRole('button', { name: 'Save' }).isDisabled());
  await page.getByRole('button', { name: 'Up: welcome' }).focus();
  await page.keyboard.press('Enter');
  assert.equal(await steps(), 'welcome trip_hello');
  await page.getByText('welcome is number 1 of 2.').waitFor();
  assert.equal(await focused(), 'Down: welcome', 'the first cannot go up');
  await page.keyboard.press('Enter');
  assert.equal(await steps(), 'trip_hello welcome');
  assert.equal(await focused(), 'Up: welcome');
  await page.keyboard.press('Enter');
  await page.getByText('Not saved yet.').waitFor();
  await page.getByRole('button', { name: 'Save' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('Saved.', { exact: true }).waitFor();
  const templateIds = [...before.sequence].reverse();
  assert.deepEqual((await api('GET', '/settings/onboarding')).sequence, templateIds);

  // Somebody else sets it meanwhile.
  await api('PUT', '/settings/onboarding', { ...before, sequence: [] });
  await page.getByLabel('Templates of a request').selectOption('FIRST_ONLY');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Somebody changed this').waitFor();
  await page.getByText('Replace the whole sequence: none').waitFor();
  await page.getByText('Replace the first template; the others follow: welcome, trip_hello').waitFor();
  assert.deepEqual(await violations(page), [], 'stale');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.', { exact: true }).waitFor();
  assert.deepEqual(await api('GET', '/settings/onboarding'), { override: 'FIRST_ONLY', sequence: templateIds });

  // Templates that need a value from a request are not offered. One that is paused meanwhile is refused by its name.
  const offered = await page.getByLabel('Add a template').getByRole('option').allInnerTexts();
  assert.ok(offered.includes('trip_offers (es)') && !offered.some((one) => one.startsWith('appointment')), offered.join());
  await page.getByLabel('Add a template').selectOption('trip_offers (es)');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.route('**/settings/onboarding', (route) =>
    route.request().method() === 'PUT'
      ? route.fulfill(problem(422, 'SERVICE_CONVERSATION_0602', 'Template Not Approved', { extra: { templateId: templateIds[0], providerChannelId: '105550000000001', status: 'PAUSED', origin: 'WORKSPACE_CONFIGURATION' } }))
      : route.continue(),
  );
  await page.getByRole('button', { name: 'Save' }).click();
  assert.match(await page.getByRole('alert').innerText(), /The template is not approved[^]*welcome · Paused · Line 105550000000001/);
  assert.deepEqual(await violations(page), [], 'refused');
  await page.getByRole('button', { name: 'Discard' }).click();
  assert.equal(await page.getByRole('alert').count(), 0);
  await page.unroute('**/settings/onboarding');
  await page.getByRole('button', { name: 'Remove: welcome' }).click();
  assert.equal(await focused(), 'Remove: trip_hello');
  await page.keyboard.press('Enter');
  await page.getByText('No template is sent').waitFor();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.', { exact: true }).waitFor();
  assert.deepEqual((await api('GET', '/settings/onboarding')).sequence, []);
  await api('PUT', '/settings/onboarding', before);
  assert.deepEqual(page.complaints, []);
});

const NEW_LISTS = [
  ['users', /\/users(\?|$)/, { users: [], cursor: null }, 'There is no user yet.'],
  ['teams', /\/teams(\?|$)/, { teams: [], cursor: null }, 'There is no team yet.'],
  ['onboarding', /\/settings\/onboarding$/, { override: 'ENTIRE', sequence: [] }, 'No template is sent when a conversation is opened.'],
  ['opt-outs', /\/opt-outs(\?|$)/, { optOuts: [], cursor: null }, 'Nobody has opted out.'],
  ['brands', /\/settings\/brands$/, { brands: [] }, 'There is no brand yet.'],
  ['lines', /\/settings\/lines$/, { lines: [] }, 'There is no line yet.'],
];

test('lists of settings say that they load, are empty or failed', async () => {
  const page = await tab();
  await signIn(page);
  for (const [path, url, body, empty] of NEW_LISTS) {
    let release;
    const held = new Promise((resolve) => (release = resolve));
    let answer = async (route) => {
      await held;
      await route.fulfill(problem(503, 'SERVICE_CORE_0503', 'Service Unavailable'));
    };
    await page.route(url, (route) => answer(route));
    await page.goto(`${PORTAL}#/w/${workspace.workspaceId}/${path}`);
    await page.locator('.bone').first().waitFor();
    assert.deepEqual(await violations(page), [], `${path} loads`);
    release();
    await page.getByRole('alert').getByText('SERVICE_CORE_0503').waitFor();
    assert.deepEqual(await violations(page), [], `${path} failed`);
    answer = (route) => route.fulfill(json(body));
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText(empty).waitFor();
    assert.deepEqual(await violations(page), [], `${path} is empty`);
    await page.unroute(url);
  }
  assert.deepEqual(page.complaints.filter((one) => !/503/.test(one)), []);
});

const soon = () => new Date(Date.now() + 3_600_000).toISOString();

/** The first line, throttled, in an account that WhatsApp restricts. */
async function badLine() {
  const { lines } = await api('GET', '/settings/lines');
  const restriction = { type: 'RESTRICTED_BIZ_INITIATED_MESSAGING', until: soon(), remediation: 'Confirm your business.' };
  const notice = { event: 'ACCOUNT_RESTRICTION', at: '2026-01-02T03:04:05.678Z', raw: { event: 'ACCOUNT_RESTRICTION' }, rawTruncated: false };
  const account = { ...lines[0].account, status: 'RESTRICTED', restrictions: [restriction], notice, syncError: '190' };
  return [{ ...lines[0], throttledUntil: soon(), status: 'FLAGGED', quality: 'RED', messagingLimit: 'TIER_UNLIMITED', account }, ...lines.slice(1)];
}

test('a line that cannot send says why and what to do, in both languages', async () => {
  for (const [language, throttled, restricted] of [
    ['en', 'This line is throttled: nothing is sent until', 'belongs to an account with a restriction: RESTRICTED_BIZ_INITIATED_MESSAGING until'],
    ['es', 'Esta línea está frenada: no se envía nada hasta', 'es de una cuenta con una restricción: RESTRICTED_BIZ_INITIATED_MESSAGING hasta'],
  ]) {
    const page = await tab({ locale: language });
    await signIn(page, language);
    const lines = await badLine();
    await page.route('**/settings/lines', (route) => route.fulfill(json({ lines })));
    await show(page, 'lines');
    assert.deepEqual(await violations(page), [], 'the list');
    await page.getByRole('link', { name: lines[0].displayPhoneNumber }).click();
    await loaded(page);
    for (const words of [throttled, restricted, 'Confirm your business.', '190']) await page.getByText(words).first().waitFor();
    await page.locator('summary').click();
    await look(page, `portal-line-${language}`);
    assert.deepEqual(await violations(page), [], 'a line');
    assert.deepEqual(page.complaints, []);
  }
});

test('the overview names everything that is wrong, and each of it leads to where it is repaired', async () => {
  const page = await tab();
  await signIn(page);
  const [endpoint] = (await api('GET', '/webhook-endpoints')).webhookEndpoints;
  const failing = await api('GET', `/webhook-endpoints/${endpoint.id}`);
  failing.health.failingSince = '2026-01-02T03:04:05.678Z';
  const disabled = { ...endpoint, id: '5fb3f4a4-3f6d-4b3c-9a86-0d9f3d1f6c11', description: 'Old one', state: 'DISABLED', disabledAt: '2026-01-02T03:04:05.678Z' };
  const [template] = (await api('GET', '/templates?pageSize=1')).templates;
  const paused = { ...template, statuses: [{ businessAccountId: '1', status: 'PAUSED', sendable: false, quality: null, reason: null, updatedAt: null }] };
  const lines = await badLine();
  const answers = [
    ['**/webhook-endpoints', { webhookEndpoints: [endpoint, disabled] }],
    [`**/webhook-endpoints/${endpoint.id}`, failing],
    ['**/templates?**', { templates: [paused], cursor: null }],
    ['**/deliveries?**', { deliveries: [1, 2], cursor: null }],
    ['**/leads?**', { leads: Array.from({ length: 100 }, (_, id) => aLead(String(id), 'FAILED', 'NO_LINE')), cursor: 'more' }],
    ['**/settings/lines', { lines }],
  ];
  const asked = [];
  for (const [url, body] of answers) {
    await page.route(url, (route) => {
      asked.push(new URL(route.request().url()).searchParams);
      return route.fulfill(json(body));
    });
  }
  await page.reload();
  await page.getByText('6 things need you.').waitFor();
  await look(page, 'portal-overview-wrong');
  assert.deepEqual(await violations(page), []);
  const found = await page.locator('.findings > li').allInnerTexts();
  for (const words of [/has been failing since/, /Old one is disabled/, /2 failed for good/, /at least 100 failed/, /is throttled.*Confirm your business/s, /is paused for 1 account/]) {
    assert.equal(found.filter((one) => words.test(one)).length, 1, String(words));
  }
  const ago = (Date.now() - Date.parse(asked.find((query) => query.get('state') === 'EXHAUSTED').get('since'))) / 3_600_000;
  assert.ok(ago >= 24 && ago < 24.1, String(ago));
  const links = await page.locator('.findings a').evaluateAll((all) => all.map((one) => one.hash.split('/').slice(3).join('/').replace(/since=.*/, '')));
  assert.deepEqual(links, [`webhooks/${endpoint.id}`, `webhooks/${disabled.id}`, 'deliveries?state=EXHAUSTED&', 'leads?state=FAILED&', `lines/${lines[0].providerChannelId}`, `templates/${template.id}`]);

  // What cannot be checked is said, and is not taken for fine.
  await page.route('**/leads?**', (route) => route.fulfill(problem(503, 'SERVICE_CORE_0503', 'Service Unavailable')));
  await page.reload();
  await page.getByText('5 things need you.').waitFor();
  await page.getByRole('alert').getByText('SERVICE_CORE_0503').waitFor();
  for (const [url] of answers) await page.unroute(url);
  assert.deepEqual(page.complaints.filter((one) => !/503/.test(one)), []);
});

test('the overview counts the last 24 hours in numbers and bars', async () => {
  const page = await tab();
  await signIn(page);
  const counts = { 'delivery.delivered': 1200, 'delivery.failed': 10, 'message.created.inbound': 61, 'message.created.outbound': 49, 'lead.accepted': 4, 'lead.failed': 1 };
  const steps = Array.from({ length: 24 }, (_, hour) => ({ at: new Date(Date.UTC(2026, 0, 2, hour)).toISOString(), counts: hour === 7 || hour === 8 ? counts : {} }));
  await page.route('**/usage', (route) => route.fulfill(json({ steps })));
  await page.reload();
  const figures = page.locator('.figures figure');
  await figures.first().waitFor();
  assert.deepEqual(await figures.allInnerTexts(), ['Deliveries\n2,400 delivered, 99.2% of attempts', 'Messages\n122 received, 98 sent', 'Leads\n8 accepted, 2 failed']);
  const heights = await figures.first().locator('path').evaluate((path) => [...path.getAttribute('d').matchAll(/v-([\d.]+)/g)].map(([, height]) => Number(height)));
  assert.deepEqual(heights.flatMap((height, hour) => (height ? [[hour, height]] : [])), [[7, 1], [8, 1]]);
  assert.equal(heights.length, 24);
  await look(page, 'portal-overview-usage');
  assert.deepEqual(await violations(page), []);

  await page.route('**/usage', (route) => route.fulfill(json({ steps: steps.map(({ at }) => ({ at, counts: {} })) })));
  await page.reload();
  await figures.first().waitFor();
  assert.deepEqual(await figures.allInnerTexts(), ['Deliveries\n0 delivered', 'Messages\n0 received, 0 sent', 'Leads\n0 accepted, 0 failed']);

  await page.route('**/usage', (route) => route.fulfill(problem(503, 'SERVICE_CORE_0503', 'Service Unavailable')));
  await page.reload();
  await page.getByRole('alert').getByText('SERVICE_CORE_0503').waitFor();
  assert.equal(await figures.count(), 0);
  await page.unroute('**/usage');
  assert.deepEqual(page.complaints.filter((one) => !/503/.test(one)), []);
});

test('settings offer what the scopes allow and nothing else', async () => {
  const { url } = await api('POST', '/portal-links', { role: 'VIEWER' });
  const page = await tab();
  await page.goto(`${PORTAL}#${url.split('#')[1]}`);
  await page.getByRole('navigation').waitFor();
  const [team] = (await api('GET', '/teams?pageSize=1')).teams;
  for (const path of ['users', `users/${workspace.users[0].id}`, 'teams', `teams/${team.id}`, 'onboarding', 'brands', 'lines']) {
    await show(page, path);
    assert.deepEqual(await page.getByRole('main').getByRole('button').allInnerTexts().then((all) => all.filter((one) => !['API call', 'Clear filters', 'Copy'].includes(one))), [], path);
  }
  const only = await api('POST', '/api-keys', { name: 'settings only', scopes: ['settings:read'] });
  const other = await tab();
  await signIn(other, 'en', only.apiKey);
  await other.getByRole('link', { name: 'Settings' }).click();
  await other.getByRole('heading', { name: 'Onboarding', level: 1 }).waitFor();
  await loaded(other);
  const offered = (name) => other.getByRole('navigation', { name }).getByRole('link').allInnerTexts();
  assert.deepEqual([await offered('Pages'), await offered('Settings')], [['Lines', 'Settings', 'API reference'], ['Onboarding', 'Attributes', 'Keywords', 'Brands', 'Lead capture']]);
  await api('DELETE', `/api-keys/${only.id}`);
  assert.deepEqual([...page.complaints, ...other.complaints], []);
});

test('an attribute is created with values, renamed beside somebody else, gets another value, and is archived and restored', async () => {
  const page = await tab();
  await signIn(page);
  await show(page, 'attributes');
  const dialog = page.getByRole('dialog');
  const name = `tier ${Date.now()}`;
  await page.getByRole('button', { name: 'Create an attribute' }).click();
  await dialog.getByLabel('Name').fill(name);
  await dialog.getByLabel('Kind').selectOption('CLOSED');
  await dialog.getByLabel('Type').selectOption('NUMBER');
  await dialog.getByLabel('Values').fill('1\n\n two \n');
  await dialog.getByLabel('A contact without it is incomplete').check();
  await dialog.getByRole('button', { name: 'Create an attribute' }).click();
  await dialog.getByRole('alert').waitFor();
  assert.equal(await dialog.getByLabel('Values').getAttribute('aria-invalid'), 'true', 'two is no number');
  assert.deepEqual(await violations(page), [], 'a failed form');
  await dialog.getByLabel('Values').fill('1\n2');
  await dialog.getByRole('button', { name: 'Create an attribute' }).click();
  await page.getByRole('heading', { name, level: 1 }).waitFor();
  await loaded(page);
  const id = page.url().split('/').at(-1);
  const now = async () => {
    const { keyName, category, type, isRequired, closedAttributesValues, deletedAt } = await api('GET', `/settings/attributes/${id}`);
    return [keyName, category, type, isRequired, closedAttributesValues.map(({ value }) => value).join(' '), deletedAt !== null];
  };
  assert.deepEqual(await now(), [name, 'CLOSED', 'NUMBER', true, '1 2', false]);

  await page.getByRole('button', { name: 'Edit' }).click();
  await api('PATCH', `/settings/attributes/${id}`, { keyName: `${name} theirs` });
  await dialog.getByLabel('A contact without it is incomplete').uncheck();
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByText(`${name} theirs`).waitFor();
  assert.deepEqual(await violations(page), [], 'stale');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' });
  assert.deepEqual(await now(), [`${name} theirs`, 'CLOSED', 'NUMBER', false, '1 2', false]);

  await page.getByRole('button', { name: 'Add a value' }).click();
  await dialog.getByLabel('Value').fill('3');
  await dialog.getByRole('button', { name: 'Add a value' }).click();
  await page.getByRole('button', { name: 'Rename: 3' }).click();
  await dialog.getByLabel('Value').fill('2');
  await dialog.getByRole('button', { name: 'Rename' }).click();
  await dialog.getByRole('alert').getByText('Another one has this name').waitFor();
  await dialog.getByLabel('Value').fill('30');
  await dialog.getByRole('button', { name: 'Rename' }).click();
  await dialog.waitFor({ state: 'detached' });
  assert.deepEqual((await now())[4], '1 2 30');

  await page.getByRole('button', { name: 'Archive' }).click();
  await dialog.getByText('It can no longer be set').waitFor();
  await dialog.getByRole('button', { name: 'Archive' }).click();
  await page.getByRole('button', { name: 'Restore' }).waitFor();
  assert.equal((await now())[5], true);
  await show(page, 'attributes');
  assert.equal(await page.getByText(name).count(), 0);
  await show(page, 'attributes?archived=yes');
  await page.getByRole('link', { name }).click();
  await page.getByRole('button', { name: 'Restore' }).click();
  await dialog.getByRole('button', { name: 'Restore' }).click();
  await page.getByRole('button', { name: 'Archive' }).waitFor();
  assert.equal((await now())[5], false);
  await show(page, `audit-log?subjectId=${id}`);
  await until('the audit log has the changes', async () => {
    const rows = await page.getByRole('row').allInnerTexts();
    return ['Attribute created', 'Attribute changed'].every((change) => rows.some((row) => row.includes(change)));
  });
  await api('PATCH', `/settings/attributes/${id}`, { archived: true });
  assert.deepEqual(page.complaints, []);
});

test('a number opts out and in again, and the audit log says so', async () => {
  const page = await tab();
  await signIn(page);
  await show(page, 'opt-outs');
  const dialog = page.getByRole('dialog');
  await page.getByRole('button', { name: 'Opt a number out' }).click();
  await dialog.getByLabel('Phone').fill('600');
  await dialog.getByLabel('Gets no').selectOption('MARKETING');
  await dialog.getByRole('button', { name: 'Opt a number out' }).click();
  await dialog.getByRole('alert').waitFor();
  assert.equal(await dialog.getByLabel('Phone').getAttribute('aria-invalid'), 'true');
  assert.deepEqual(await violations(page), [], 'a failed form');
  await dialog.getByLabel('Phone').fill('+34605550001');
  await dialog.getByRole('button', { name: 'Opt a number out' }).click();
  await dialog.waitFor({ state: 'detached' });
  const row = page.getByRole('row').filter({ hasText: '+34605550001' });
  assert.match(await row.innerText(), /templates that advertise by you or the operator, \d/);
  const listed = async () => (await api('GET', '/opt-outs?pageSize=100')).optOuts.find(({ cellphone }) => cellphone === '+34605550001');
  const { id, choices } = await listed();
  assert.deepEqual(choices.map(({ scope }) => scope), ['MARKETING']);

  await page.getByRole('button', { name: 'Opt in: +34605550001' }).click();
  await dialog.getByText('Do this only if the person asked for it.').waitFor();
  assert.deepEqual(await violations(page), [], 'the question');
  await dialog.getByRole('button', { name: 'Opt in' }).click();
  await dialog.waitFor({ state: 'detached' });
  await row.waitFor({ state: 'detached' });
  assert.equal(await listed(), undefined);
  await show(page, `audit-log?subjectId=${encodeURIComponent(id)}`);
  await until('the audit log has both changes', async () => {
    const rows = await page.getByRole('row').allInnerTexts();
    return ['Opted out', 'Opted in'].every((change) => rows.some((row) => row.includes(change)));
  });
  assert.deepEqual(page.complaints, []);
});

test('keywords are replaced beside somebody else, and the defaults hold again', async () => {
  const page = await tab();
  await signIn(page);
  await show(page, 'opt-out-keywords');
  const dialog = page.getByRole('dialog');
  const now = () => api('GET', '/settings/opt-out-keywords');
  const { isDefault, ...defaults } = await now();
  assert.ok(isDefault && (await page.getByRole('button', { name: 'Use the defaults' }).count()) === 0);
  await page.getByRole('button', { name: 'Edit' }).click();
  await dialog.getByLabel('Opt out', { exact: true }).fill('!');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByRole('alert').waitFor();
  assert.equal(await dialog.getByLabel('Opt out', { exact: true }).getAttribute('aria-invalid'), 'true');
  assert.deepEqual(await violations(page), [], 'a failed form');
  await api('PUT', '/settings/opt-out-keywords', { ...defaults, stop: ['THEIRS'] });
  await dialog.getByLabel('Opt out', { exact: true }).fill('ENOUGH\n\nNO MORE');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByText('THEIRS').waitFor();
  assert.deepEqual(await violations(page), [], 'stale');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' });
  assert.deepEqual((await now()).stop, ['ENOUGH', 'NO MORE']);
  await page.getByText('ENOUGH, NO MORE').waitFor();
  await page.getByRole('button', { name: 'Use the defaults' }).click();
  await dialog.getByRole('button', { name: 'Use the defaults' }).click();
  await dialog.waitFor({ state: 'detached' });
  assert.deepEqual(await now(), { ...defaults, isDefault: true });
  await page.getByText(defaults.stop.join(', ')).waitFor();
  assert.deepEqual(page.complaints, []);
});

test('a limit is changed while the template of lead capture is paused', async () => {
  const other = stack.workspaces[1];
  const before = await api('GET', '/settings/capture', undefined, other.apiKey, other.workspaceId);
  assert.deepEqual([before.enabled, before.unreachableBrands.length > 0], [true, true], 'enabled, and its template is paused');
  const page = await tab();
  await signIn(page, 'en', other.apiKey, other);
  await page.goto(`${PORTAL}#/w/${other.workspaceId}/lead-capture`);
  await loaded(page);
  await page.getByRole('button', { name: 'Edit' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Leads per day', { exact: true }).fill('901');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByText('901', { exact: true }).waitFor();
  assert.deepEqual(page.complaints, []);
});

test('lead capture is changed beside somebody else, lacks something, and gets another key', async () => {
  // Tests of landing pages use the key of the first workspace, and the template of the second one is paused.
  const other = stack.workspaces[2];
  const settings = (method, path = '', body) => api(method, `/settings/capture${path}`, body, other.apiKey, other.workspaceId);
  const before = await settings('GET');
  const page = await tab();
  await signIn(page, 'en', other.apiKey, other);
  await page.goto(`${PORTAL}#/w/${other.workspaceId}/lead-capture`);
  await loaded(page);
  const dialog = page.getByRole('dialog');
  const snippet = page.getByRole('region', { name: 'For your page' });
  for (const own of [before.captureUrl, before.scriptUrl, before.captureKey, other.workspaceId]) assert.ok((await snippet.innerText()).includes(own), own);
  assert.ok(!(await snippet.innerText()).includes('example.com'));
  assert.equal(before.captureUrl, stack.captureUrl);
  assert.equal((await fetch(before.scriptUrl)).status, 200, 'the code works on this machine');

  await page.getByRole('button', { name: 'Edit' }).click();
  await dialog.getByLabel('Origins').fill('https://www.example.org/page');
  await dialog.getByLabel('Lowest captcha score').fill('2');
  await dialog.getByLabel('Leads per day', { exact: true }).fill('0');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByRole('alert').waitFor();
  for (const label of ['Origins', 'Lowest captcha score', 'Leads per day']) assert.equal(await dialog.getByLabel(label, { exact: true }).getAttribute('aria-invalid'), 'true', label);
  assert.deepEqual(await violations(page), [], 'a failed form');

  await dialog.getByLabel('Origins').fill('');
  await dialog.getByLabel('Lowest captcha score').fill('0.3');
  await dialog.getByLabel('Leads per day', { exact: true }).fill('900');
  await dialog.getByLabel('Accepts leads').check();
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByText('This is missing: an origin').waitFor();
  assert.deepEqual(await settings('GET'), before, 'a refused change changes nothing');

  await dialog.getByLabel('Origins').fill('https://www.example.org\nhttps://shop.example.org');
  await settings('PATCH', '', { phoneCap: 7 });
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByText('Somebody changed this').waitFor();
  await dialog.getByText(/· 7$/).waitFor(); // the present version is loaded
  assert.deepEqual(await violations(page), [], 'stale');
  await dialog.getByLabel('Leads per day and number').fill('7');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByText('https://www.example.org, https://shop.example.org').waitFor();
  const changed = await settings('GET');
  assert.deepEqual([changed.origins, changed.threshold, changed.dailyCap, changed.phoneCap], [['https://www.example.org', 'https://shop.example.org'], 0.3, 900, 7]);

  await page.getByRole('button', { name: 'Replace the key' }).click();
  await dialog.getByText('The present key ends at once.').waitFor();
  assert.deepEqual(await violations(page), [], 'the question');
  await dialog.getByRole('button', { name: 'Replace the key' }).click();
  await dialog.waitFor({ state: 'detached' });
  const { captureKey } = await settings('GET');
  assert.notEqual(captureKey, before.captureKey);
  assert.ok((await snippet.innerText()).includes(captureKey));
  assert.deepEqual(page.complaints, []);
});

test('a person with only a link makes a key and an endpoint, sees a delivery fail, repairs and replays it, and changes the onboarding', async () => {
  const before = await api('GET', '/settings/onboarding');
  const { url } = await api('POST', '/portal-links', { role: 'ADMIN', subject: 'ana@example.com' });
  const page = await tab();
  const dialog = page.getByRole('dialog');
  const follow = async (name) => {
    await page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
    await page.getByRole('heading', { name, level: 1 }).waitFor();
    await loaded(page);
  };
  const seen = async (state) => {
    await look(page, `journey-${state}`, false);
    await page.setViewportSize({ width: 1280, height: 800 });
  };
  await page.goto(url);
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  await loaded(page);
  await seen('1-overview');

  await follow('API keys');
  await page.getByRole('button', { name: 'Create a key' }).click();
  await dialog.getByRole('textbox', { name: 'Name' }).fill(`journey ${Date.now()}`);
  await dialog.getByRole('checkbox', { name: 'contacts:read' }).check();
  await dialog.getByRole('button', { name: 'Create a key' }).click();
  const key = await dialog.locator('.secret code').innerText();
  await dialog.getByRole('checkbox', { name: 'I saved it' }).check();
  await dialog.getByRole('button', { name: 'Done' }).click();
  assert.ok((await api('GET', '/contacts?pageSize=1', undefined, key)).contacts);

  await follow('Webhooks');
  await page.getByRole('button', { name: 'Create an endpoint' }).click();
  await dialog.getByRole('textbox', { name: 'URL' }).fill(`${stack.receiverUrl}/status/503/journey`);
  await dialog.getByLabel('Your key').fill('the-key-of-the-journey');
  await dialog.getByLabel('Description').fill('Orders');
  await dialog.getByRole('button', { name: 'Create an endpoint' }).click();
  await dialog.getByRole('checkbox', { name: 'I saved it' }).check();
  await dialog.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('heading', { name: 'Orders', level: 1 }).waitFor();
  await page.getByRole('button', { name: 'Send a test' }).click();
  await page.getByRole('status').filter({ hasText: 'Test:' }).getByText('503').first().waitFor();
  await seen('2-test-failed');

  // A lead comes, and its event cannot be delivered.
  const requestId = await lead('+34605550077');
  const accepted = page.getByRole('row').filter({ hasText: 'lead.accepted' }).filter({ hasText: '503' });
  await until('the delivery fails', async () => {
    await page.reload();
    await loaded(page);
    return (await accepted.count()) > 0;
  });
  await accepted.first().getByRole('link').first().click();
  await page.getByRole('heading', { name: 'lead.accepted', level: 1 }).waitFor();
  await loaded(page);
  assert.match(await page.getByRole('main').innerText(), /503[^]*did not answer 2xx[^]*as asked/, 'the answer says why');
  await seen('3-delivery');

  // The receiver is repaired, and the last hour is replayed.
  await follow('Webhooks');
  await page.getByRole('link', { name: 'Orders' }).click();
  await page.getByRole('button', { name: 'Edit' }).click();
  await dialog.getByRole('textbox', { name: 'URL' }).fill(`${stack.receiverUrl}/ok/journey`);
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Replay …' }).click();
  await dialog.getByRole('button', { name: 'Replay', exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
  await until('the event arrives', async () => (await eventsOf(requestId, '/ok/journey')).length > 0);
  await until('the log says so', async () => {
    await page.reload();
    await loaded(page);
    return page.getByRole('row').filter({ hasText: 'lead.accepted' }).filter({ hasText: 'Delivered' }).count();
  });
  await seen('4-delivered');

  await follow('Leads');
  await page.getByRole('row').filter({ hasText: '+34605550077' }).getByRole('link').first().click();
  await page.getByRole('heading', { name: '+34605550077', level: 1 }).waitFor();
  await loaded(page);
  await seen('5-lead');

  await page.getByRole('navigation').getByRole('link', { name: 'Settings', exact: true }).click();
  await page.getByRole('link', { name: 'Onboarding', exact: true }).click();
  await page.getByRole('button', { name: /^Down: / }).first().click();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.', { exact: true }).waitFor();
  assert.notDeepEqual((await api('GET', '/settings/onboarding')).sequence, before.sequence);
  await seen('6-onboarding');
  await api('PUT', '/settings/onboarding', before);
  assert.deepEqual(page.complaints, []);
});

test('a session that was ended is refused', async () => {
  assert.equal(ended.length, 2, 'the tests that end sessions did not run before: run the whole file');
  for (const { apiKey, page } of ended) {
    await until('the session is refused', async () => (await fetch(`${API}/session`, { headers: { 'x-api-key': apiKey } })).status === 403);
    await page?.reload();
    await page?.getByText('Your session has ended.').waitFor();
  }
});
