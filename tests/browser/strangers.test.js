// A page that a developer has open beside `make run` cannot use the stack: the emulator runs programs, and everybody
// knows its credentials.

import assert from 'node:assert/strict';
import { createServer, request as send } from 'node:http';
import { after, before, test } from 'node:test';

import { launch, stack } from './stack.js';

const { host, port } = new URL(stack.emulatorUrl);
const REFUSAL = /^The local stack refuses this request, because a web page may have sent it: /;

let browser;
let server;
before(async () => {
  // The name of a stranger that points to this machine (DNS rebinding).
  browser = await launch({ args: ['--host-resolver-rules=MAP rebound.example.com 127.0.0.1'] });
  server = createServer((request, response) =>
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>A stranger</title>'));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
});
after(() => {
  server?.close();
  return browser?.close();
});

/** Opens the stranger's page under a name. */
async function strange(name) {
  const page = await (await browser.newContext()).newPage();
  await page.goto(`http://${name}:${server.address().port}/`);
  return page;
}

/** Sends a form as a navigation, and returns the answer that the visitor sees. */
async function submitted(page, path, { method = 'post', fields = {}, referrer = '' } = {}) {
  const answer = page.waitForNavigation();
  await page.evaluate(
    ({ action, method, fields, referrer }) => {
      document.head.insertAdjacentHTML('beforeend', `<meta name="referrer" content="${referrer}">`);
      const form = Object.assign(document.createElement('form'), { action, method });
      for (const [name, value] of Object.entries(fields)) form.append(Object.assign(document.createElement('input'), { name, value }));
      document.body.append(form);
      form.submit();
    },
    { action: stack.emulatorUrl + path, method, fields, referrer },
  );
  const response = await answer;
  return { status: response.status(), text: await response.text() };
}

async function isRefused(page, path, options) {
  const { status, text } = await submitted(page, path, options);
  assert.equal(status, 403, `${path}: ${text}`);
  assert.match(text, REFUSAL);
}

/**
 * A proxy of the emulator, and the status of its first answer. Requests keep the headers of the browser, but for the host.
 * The browser's own events cannot say it: they miss requests of a frame that moves to another process.
 */
async function proxied() {
  let resolve;
  const status = new Promise((answered) => { resolve = answered; });
  const proxy = createServer((from, to) => {
    const headers = { ...from.headers, host };
    from.pipe(send(stack.emulatorUrl + from.url, { method: from.method, headers }, (answer) => {
      resolve(answer.statusCode);
      answer.pipe(to.writeHead(answer.statusCode, answer.headers));
    }));
  });
  await new Promise((listens) => proxy.listen(0, '127.0.0.1', listens));
  proxy.unref();
  return { url: `http://127.0.0.1:${proxy.address().port}`, status };
}

async function stackIsThere() {
  const answer = await fetch(`${stack.captureUrl}/health`);
  assert.equal(answer.status, 200);
}

test('a form of another site cannot reset the stack', async () => {
  // `localhost` is another site, and 127.0.0.1 the same site at another port.
  for (const name of ['localhost', '127.0.0.1']) {
    await isRefused(await strange(name), '/_ministack/reset');
    // Without a referrer, the origin is `null`.
    await isRefused(await strange(name), '/_ministack/reset', { referrer: 'no-referrer' });
  }
  await stackIsThere();
});

test('a form of another site cannot call a service', async () => {
  const fields = { Action: 'CreateUser', UserName: 'mallory', Version: '2010-05-08' };
  await isRefused(await strange('localhost'), '/', { fields });
  await isRefused(await strange('localhost'), '/', { fields, method: 'get' });
});

test('a frame without an origin cannot call a service', async () => {
  const page = await strange('localhost');
  const emulator = await proxied();
  await page.evaluate((action) => {
    const frame = Object.assign(document.createElement('iframe'), { sandbox: 'allow-scripts allow-forms' });
    frame.srcdoc = `<form action="${action}" method="post"></form><script>document.forms[0].submit()</script>`;
    document.body.append(frame);
  }, `${emulator.url}/_ministack/reset`);
  assert.equal(await emulator.status, 403);
  await stackIsThere();
});

test('a script of another site cannot send a simple request', async () => {
  for (const url of [stack.emulatorUrl, stack.captchaUrl, stack.providerUrl, stack.receiverLedgerUrl, stack.landingUrl]) {
    const page = await strange('localhost');
    const answer = page.waitForResponse((response) => response.url().startsWith(url));
    await page.evaluate((url) => fetch(`${url}/inbound`, { method: 'POST', mode: 'no-cors', body: '{}' }), url);
    assert.equal((await answer).status(), 403, url);
  }
});

test('a name that points to this machine opens nothing', async () => {
  const page = await (await browser.newContext()).newPage();
  for (const url of [stack.emulatorUrl, stack.captchaUrl, stack.providerUrl, stack.receiverLedgerUrl, stack.landingUrl]) {
    const rebound = new URL(url);
    rebound.hostname = 'rebound.example.com';
    const response = await page.goto(`${rebound.href}ledger`);
    assert.equal(response.status(), 403, rebound.href);
    assert.match(await response.text(), REFUSAL);
  }
  assert.equal((await page.goto(`http://127.0.0.1:${port}/_ministack/health`)).status(), 200, 'a typed address');
});
