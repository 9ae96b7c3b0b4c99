// The snippet of docs/lead-capture.md in an empty page: an owner of a page pastes it and replaces the host and the keys.

import assert from 'node:assert/strict';
import { execSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';

import { violations } from './axe.js';
import { launch, sentTo, stack, until, workspace } from './stack.js';

const PAGE = readFileSync(new URL('../../docs/lead-capture.md', import.meta.url), 'utf8');
const REPLACED = {
  'https://capture.example.com': stack.captureUrl,
  YOUR_WORKSPACE_ID: workspace.workspaceId,
  YOUR_CAPTURE_KEY: workspace.capture.captureKey,
};
// Google's own script, with the interface that the documentation of reCAPTCHA v3 describes. The local captcha accepts
// its tokens.
const RECAPTCHA = `window.grecaptcha = {
  ready: (then) => setTimeout(then),
  execute: async (siteKey, { action }) => {
    if (siteKey !== 'YOUR_SITE_KEY' || action !== 'campaign_lead') throw new Error(siteKey + action);
    return 'pass-' + crypto.randomUUID();
  },
};`;

let browser;
let server;
let allowed;
before(async () => {
  browser = await launch();
  server = createServer((request, response) =>
    response.setHeader('content-type', 'text/html').end(empty((VARIANTS[request.url] ?? snippet)())));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  allowed = `http://127.0.0.1:${server.address().port}`;
  execSync(`${stack.console} capture set --workspace ${workspace.workspaceId} --origin ${allowed}`);
});
after(() => {
  server?.close();
  return browser?.close();
});

/** What owners change in the snippet, by the path of the page. */
const VARIANTS = {
  '/spanish': () => snippet().replace('const country = null;', "const country = 'ES';"),
  '/local': () => snippet().replace("recaptchaV3('YOUR_SITE_KEY')", PAGE.match(/the token ``(async .*?) ``/)[1]),
};

/** An empty page with something in it. */
function empty(content) {
  return `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Empty</title></head>
<body><main><h1>Empty</h1>\n${content}</main></body></html>`;
}

function snippet() {
  const [block, ...more] = [...PAGE.matchAll(/^```html\n(.*?)^```$/gms)];
  assert.deepEqual(more, [], 'the page must have one snippet');
  return Object.entries(REPLACED).reduce((text, [from, to]) => text.replaceAll(from, to), block[1]);
}

/** Opens the page with the snippet. */
async function pasted(url) {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.route('https://www.google.com/recaptcha/**', (route) =>
    route.fulfill({ contentType: 'text/javascript', body: RECAPTCHA }));
  const script = page.waitForResponse(/lead-capture-2\.js$/);
  await page.goto(url);
  return { page, script: await script };
}

async function send(page, phone) {
  await page.getByRole('textbox', { name: 'Name' }).fill('Ana García');
  await page.getByRole('textbox', { name: 'Phone number' }).fill(phone);
  await page.getByRole('checkbox').check();
  await page.getByRole('button', { name: 'Write to me' }).click();
}

test('the pasted snippet sends a lead, and the visitor gets a message', async () => {
  const { page, script } = await pasted(allowed);
  assert.equal(script.headers()['cache-control'], 'public, max-age=31536000, immutable');

  const post = page.waitForRequest((request) => request.method() === 'POST' && request.url().includes('campaign-leads'));
  await send(page, '0034 600 30 01 01');
  const { consent } = (await post).postDataJSON();
  assert.equal(consent.text, 'I agree that Example Travel writes to me on WhatsApp about my trip.');
  await page.getByRole('status').getByText('Thank you!').waitFor();
  assert.ok(await page.getByRole('button').isDisabled());
  const [message] = await until('the message', async () => {
    const messages = await sentTo('+34600300101');
    return messages.length > 0 && messages;
  });
  assert.equal(message.type, 'template');
  assert.deepEqual(await violations(page), []);
});

test('the pasted snippet asks for a country code, and says when to try again', async () => {
  const { page } = await pasted(allowed);
  await send(page, '600300102');
  await page.getByRole('status').getByText('Please give your number with its country code.').waitFor();

  await page.route('**/campaign-leads**', (route) => route.fulfill({ status: 503, body: '' }));
  await send(page, '+34600300102');
  await page.getByRole('status').getByText('Please try again in a moment.').waitFor();
  assert.ok(await page.getByRole('button').isEnabled());
});

/** What has the focus. */
const focused = (page) => page.evaluate(() => document.activeElement.getAttribute('role') ?? document.activeElement.name);

test('the pasted snippet says what happens, and the focus stays there', async () => {
  const { page } = await pasted(allowed);
  await send(page, '12');
  await page.getByRole('status').getByText('Please give your number').waitFor();
  assert.equal(await focused(page), 'phone');

  let answered;
  await page.route('**/campaign-leads**', async (route) => {
    await new Promise((resolve) => (answered = resolve));
    await route.fulfill({ status: 503, body: '' });
  });
  await send(page, '+34600300104');
  await page.getByRole('status').getByText('Sending…').waitFor();
  assert.equal(await focused(page), 'status');
  assert.ok(await page.getByRole('button').isDisabled());
  assert.deepEqual(await violations(page), []);

  await until('the request', () => answered);
  answered();
  await page.getByRole('status').getByText('Please try again in a moment.').waitFor();
  assert.equal(await focused(page), 'status');
});

test('the pasted snippet takes numbers of the country that its owner names', async () => {
  const { page } = await pasted(`${allowed}/spanish`);
  await send(page, '600 30 01 05');
  await page.getByRole('status').getByText('Thank you!').waitFor();
  await until('the message', async () => (await sentTo('+34600300105')).length > 0);
});

test('the pasted snippet tells the visitor that the script cannot be loaded', async () => {
  const page = await (await browser.newContext()).newPage();
  await page.route(/lead-capture-2\.js$/, (route) => route.abort());
  await page.goto(allowed);
  await page.getByRole('status').getByText('This form does not work at the moment.').waitFor();
  assert.ok(await page.getByRole('button').isDisabled());
  assert.deepEqual(await violations(page), []);
});

test('the own page works with a token that the local captcha accepts, as docs/lead-capture.md says', async () => {
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${allowed}/local`);
  await send(page, '+34600300106');
  await page.getByRole('status').getByText('Thank you!').waitFor();
});

test('a page of another origin loads the script but cannot send a lead', async () => {
  const { page, script } = await pasted(allowed.replace('127.0.0.1', 'localhost'));
  assert.equal(script.status(), 200);
  await send(page, '+34600300103');
  await page.getByRole('status').getByText('Please try again in a moment.').waitFor();
});
