// The running stack that the tests drive, and a browser that sees it as visitors do.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { chromium as playwright } from 'playwright-core';

import { chromium } from './chromium.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PICTURES = `${ROOT}.local/screenshots`;

// A small phone, a desktop.
const SIZES = { phone: { width: 360, height: 740 }, desktop: { width: 1280, height: 800 } };

export const stack = JSON.parse(readFileSync(process.env.STACK_FILE ?? `${ROOT}.local/stack.json`, 'utf8'));
export const workspace = stack.workspaces[0];

/** Without a window, a sandbox (containers have none) or traffic of its own: Playwright's defaults. */
export function launch() {
  return playwright.launch({ executablePath: chromium() });
}

/** A page of a browser that knows nothing yet: no preflight is remembered. */
export async function open(browser, url) {
  const context = await browser.newContext({ viewport: SIZES.desktop, locale: 'en-GB' });
  const page = await context.newPage();
  await page.goto(url);
  return page;
}

/** Looks at a state of the page as a phone and as a desktop show it; the pictures are for people to look at. */
export async function look(page, state) {
  mkdirSync(PICTURES, { recursive: true });
  for (const [device, size] of Object.entries(SIZES)) {
    await page.setViewportSize(size);
    const beyond = await page.evaluate(() => {
      const { scrollWidth, clientWidth } = document.documentElement;
      return scrollWidth - clientWidth;
    });
    assert.equal(beyond, 0, `${state} on a ${device} is so many pixels too wide`);
    await page.screenshot({ path: `${PICTURES}/${state}-${device}.png`, fullPage: true });
  }
}

/** The tokens that the captcha provider was asked about so far. */
export async function tokensSeen() {
  const ledger = await (await fetch(`${stack.captchaUrl}/ledger`)).json();
  return ledger.map(({ body }) => new URLSearchParams(Buffer.from(body, 'base64').toString()).get('response'));
}
