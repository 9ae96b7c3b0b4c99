// The API reference: its search, its requests, light and dark, and the accessibility rules.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, test } from 'node:test';

import { ALL_BUT_COLOURS, violations, violationsOfColours } from './axe.js';
import { launch, look, open, stack, workspace } from './stack.js';

const MODES = ['light', 'dark'];

let browser;
before(async () => (browser = await launch()));
after(() => browser?.close());

/** Opens the reference for a reader whose system prefers these colours. Every other host is unreachable. */
async function reference(colorScheme = 'light', path = '') {
  const context = await browser.newContext({ colorScheme, locale: 'en-GB', permissions: ['clipboard-read', 'clipboard-write'] });
  const page = await context.newPage();
  page.complaints = [];
  page.on('console', (message) => message.type() === 'error' && page.complaints.push(message.text()));
  page.on('pageerror', (error) => page.complaints.push(String(error)));
  await page.route((url) => url.origin !== stack.landingUrl, (route) => route.abort());
  await page.goto(stack.referenceUrl + path);
  return page;
}

const parts = (page) => ({
  search: page.getByRole('combobox', { name: 'Search operations, fields and errors' }),
  results: page.getByRole('option'),
  dark: page.getByRole('button', { name: 'Dark' }),
});

const colours = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);

test('the search finds operations, events, fields and errors', async () => {
  const page = await reference();
  const { search, results } = parts(page);
  for (const [text, name, target, kind] of [
    ['update a contact', 'Update a contact', 'updateContact', 'Operation'],
    ['listConversations', 'List conversations', 'listConversations', 'Operation'],
    ['leadscout scripts', 'Get the script for pages', 'getLeadScript', 'Operation'],
    ['message.updated', "A message's status changed, or the provider reported about a part", 'messageUpdated', 'Event'],
    ['checksumBase64', 'checksumBase64', 'createUploads.checksumBase64', 'Field'],
    ['SERVICE_RATE_LIMIT_0001', 'SERVICE_RATE_LIMIT_0001', 'SERVICE_RATE_LIMIT_0001', 'Error'],
  ]) {
    await search.fill(text);
    assert.deepEqual(await results.first().locator('span, strong').allInnerTexts(), [kind, name], text);
    await search.press('Enter');
    assert.equal(decodeURIComponent(new URL(page.url()).hash), `#${target}`);
    const found = page.locator('.found');
    assert.equal(await found.getAttribute('id'), target);
    assert.ok(await found.isVisible(), text);
    assert.ok(await found.evaluate((element) => element === document.activeElement), text);
    const { top } = await found.evaluate((element) => element.getBoundingClientRect().toJSON());
    const header = await page.locator('body > header').evaluate((element) => element.getBoundingClientRect().bottom);
    assert.ok(top >= header - 1, `the header must not hide ${text}: ${top}`);
  }
  assert.deepEqual(page.complaints, []);
});

test('the search works with the keyboard alone', async () => {
  const page = await reference();
  const { search, results } = parts(page);
  await page.keyboard.press('Control+k');
  assert.ok(await search.evaluate((field) => field === document.activeElement));
  await page.keyboard.type('contact');
  assert.equal(await search.getAttribute('aria-expanded'), 'true');
  assert.match(await page.getByRole('status').first().innerText(), /^30 of \d+ results$/);
  assert.equal(await results.count(), 30);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ArrowUp');
  const chosen = page.getByRole('option', { selected: true });
  assert.equal(await search.getAttribute('aria-activedescendant'), await chosen.getAttribute('id'));
  assert.equal(await chosen.getAttribute('id'), 'found-29');
  await page.keyboard.press('Escape');
  assert.equal(await results.count(), 0);
  assert.equal(await search.getAttribute('aria-expanded'), 'false');

  await search.fill('nothing is called so');
  assert.equal(await page.getByRole('status').first().innerText(), '0 results');
});

test('a link to a field of a folded response shows the field', async () => {
  const page = await reference();
  const { search, results } = parts(page);
  await search.fill('Retry-After');
  await results.first().click();
  const link = page.url();
  const again = await reference('light', new URL(link).hash);
  assert.ok(await again.locator('.found').isVisible());
  assert.match(await again.locator('.found').innerText(), /^Retry-After/);
});

test('the copied request of every operation succeeds on the running stack', async () => {
  const page = await reference();
  const buttons = page.getByRole('button', { name: /^Copy the request: / });
  assert.equal(await buttons.count(), await page.locator('.curl').count());
  for (const button of await buttons.all()) {
    await page.evaluate(() => navigator.clipboard.writeText(''));
    await button.click();
    await page.waitForFunction(async () => (await navigator.clipboard.readText()) !== '');
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    // The demo has no key, capture key, session, endpoint or opt-out to spare, and its deliveries and events get their ids as it runs: the ids in these requests
    // are examples. Leads of the demo are not in a state to be retried, and its team is in use. A key has no session to end.
    if (/(api-keys|sessions|webhook-endpoints|deliveries|events|leads|opt-outs)\/[^?'"]|lead-retries|rotate-key|DELETE '[^']*\/(session'|teams)/.test(copied)) continue;
    const command = `${copied} \\\n  -o /dev/null -w '%{http_code}'`;
    const answer = execFileSync('sh', ['-c', command], { encoding: 'utf8', env: { ...process.env, KEY: workspace.apiKey } });
    assert.match(answer, /^2/, command);
  }
});

for (const mode of MODES) {
  const other = MODES.find((one) => one !== mode);

  test(`a reader whose system prefers ${mode} gets it, and the other choice is remembered`, async () => {
    const page = await reference(mode);
    const { dark } = parts(page);
    const preferred = await colours(page);
    assert.equal(await dark.getAttribute('aria-pressed'), String(mode === 'dark'));
    await dark.focus();
    await page.keyboard.press('Enter');
    assert.equal(await dark.getAttribute('aria-pressed'), String(other === 'dark'));
    const chosen = await colours(page);
    assert.notEqual(chosen, preferred);
    await page.reload();
    assert.equal(await colours(page), chosen);
    assert.equal(await dark.getAttribute('aria-pressed'), String(other === 'dark'));
  });

  test(`the reference breaks no accessibility rule in ${mode}, and fits a phone and a desktop`, async () => {
    const page = await reference(mode);
    await look(page, `reference-${mode}`, false);
    await page.evaluate(() => document.querySelectorAll('details').forEach((part) => (part.open = true)));
    await parts(page).search.fill('contact');
    await page.keyboard.press('ArrowDown');
    await look(page, `reference-search-${mode}`, false);
    // The page has more than 50,000 elements: the rules of colours alone would take minutes for all of them.
    assert.deepEqual(await violationsOfColours(page), []);
    if (mode === 'light') assert.deepEqual(await violations(page, ALL_BUT_COLOURS), []);

    await parts(page).search.fill('updateContact');
    await page.keyboard.press('Enter');
    await look(page, `reference-operation-${mode}`, false);
  });

  test(`the landing page breaks no accessibility rule in ${mode}`, async () => {
    const page = await open(browser, stack.landingUrl);
    await page.emulateMedia({ colorScheme: mode });
    assert.deepEqual(await violations(page), []);
    await page.getByRole('button').click();
    assert.deepEqual(await violations(page), [], 'with errors');
    await page.getByRole('textbox', { name: 'Phone number' }).fill('+34600300200');
    await page.getByRole('checkbox').check();
    await page.route('**/campaign-leads**', (route) => route.fulfill({ status: 403, body: '' }));
    await page.getByRole('button').click();
    await page.getByRole('heading', { name: 'We could not take your request' }).waitFor();
    assert.deepEqual(await violations(page), [], 'rejected');
    await page.unroute('**/campaign-leads**');
    await page.route('**/campaign-leads**', (route) => route.fulfill({ status: 202, body: '{"requestId":"r-1"}' }));
    await page.getByRole('button').click();
    await page.getByRole('heading', { name: 'Thank you!' }).waitFor();
    assert.deepEqual(await violations(page), [], 'accepted');
  });
}

test('the reference can be read without its script', async () => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${stack.referenceUrl}#updateContact`);
  assert.ok(await page.getByRole('heading', { name: 'Update a contact' }).isVisible());
  assert.equal(await page.getByRole('combobox').count(), 0);
  assert.equal(await page.getByRole('button').count(), 0);
});
