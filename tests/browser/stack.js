// The running stack under test, and a browser that opens it as visitors do.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { chromium as playwright } from 'playwright-core';

import { chromium } from './chromium.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PICTURES = `${ROOT}.local/screenshots`;

// A small phone and a desktop.
const SIZES = { phone: { width: 360, height: 740 }, desktop: { width: 1280, height: 800 } };

export const stack = JSON.parse(readFileSync(process.env.STACK_FILE ?? `${ROOT}.local/stack.json`, 'utf8'));
export const workspace = stack.workspaces[0];

/** Launches the browser as Playwright does by default: no window, no sandbox (containers have none), no own traffic. */
export function launch(options = {}) {
  return playwright.launch({ executablePath: chromium(), ...options });
}

/** Opens a page in a new browser context, which has no cached preflight. */
export async function open(browser, url) {
  const context = await browser.newContext({ viewport: SIZES.desktop, locale: 'en-GB' });
  const page = await context.newPage();
  await page.goto(url);
  return page;
}

/** Checks that a state of the page fits a phone and a desktop, and saves screenshots of it, or of its window, for people. */
export async function look(page, state, fullPage = true) {
  mkdirSync(PICTURES, { recursive: true });
  for (const [device, size] of Object.entries(SIZES)) {
    await page.setViewportSize(size);
    const beyond = await page.evaluate(() => {
      const { scrollWidth, clientWidth } = document.documentElement;
      return scrollWidth - clientWidth;
    });
    assert.equal(beyond, 0, `${state} on a ${device}: the page is too wide by this many pixels`);
    await page.screenshot({ path: `${PICTURES}/${state}-${device}.png`, fullPage });
  }
}

/** Sends a request of a workspace to the Integrations API, which must accept it. Returns the answer's body. */
export async function api(method, path, body, key = workspace.apiKey, workspaceId = workspace.workspaceId) {
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  const answer = await fetch(`${stack.baseUrl}/service/api/v1/workspaces/${workspaceId}${path}`, { method, headers, body: body && JSON.stringify(body) });
  assert.ok(answer.ok, `${method} ${path}: ${answer.status}`);
  return answer.status === 204 ? null : answer.json();
}

/** The messages to a phone number that the WhatsApp provider got. */
export async function sentTo(phone) {
  const ledger = await (await fetch(`${stack.providerUrl}/ledger`)).json();
  return ledger.map(({ body }) => body).filter(({ to }) => to === phone);
}

/** The events of a lead that the receiver got, at any path or at this one. */
export async function eventsOf(requestId, at = null) {
  const ledger = await (await fetch(`${stack.receiverLedgerUrl}/ledger`)).json();
  const bodies = ledger.filter(({ path }) => at === null || path === at).map(({ body }) => JSON.parse(Buffer.from(body, 'base64').toString()));
  return bodies.filter(({ payload }) => payload.requestId === requestId);
}

/** Calls `look` repeatedly until it returns a value. */
export async function until(what, look) {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const seen = await look();
    if (seen) return seen;
    assert.ok(Date.now() < deadline, `timed out waiting for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** The tokens that the captcha provider has verified so far. */
export async function tokensSeen() {
  const ledger = await (await fetch(`${stack.captchaUrl}/ledger`)).json();
  return ledger.map(({ body }) => new URLSearchParams(Buffer.from(body, 'base64').toString()).get('response'));
}
