// Measures what a person waits for on the local stack: the first paint of the portal from a cold function, and pages of a long log.

import { readdirSync, readFileSync } from 'node:fs';

import { api, launch, stack, until, workspace } from './stack.js';

const STARTS = 15;
const PAGES = 200;
const DELIVERIES = 500;

/** The middle, the 95th percentile and the largest of some milliseconds. */
function row(what, times) {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]);
  console.log(`| ${what.padEnd(58)} | ${[0.5, 0.95, 1].map((share) => String(at(share)).padStart(6)).join(' | ')} |`);
}

/** Ends the processes that run a function of this stack, so that its next request waits for a start. */
function chill(name) {
  for (const id of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    let environment = [];
    try {
      environment = readFileSync(`/proc/${id}/environ`, 'utf8').split('\0');
    } catch {
      continue; // it ended, or is somebody else's
    }
    const ours = environment.includes(`AWS_ENDPOINT_URL=${stack.awsUrl}`);
    if (ours && environment.some((variable) => variable.startsWith('AWS_LAMBDA_FUNCTION_NAME=') && variable.endsWith(`-${name}`))) process.kill(Number(id), 'SIGKILL');
  }
}

/** How long after the start of the navigation a new visitor sees something. */
async function paint(browser) {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${stack.baseUrl}/portal/index.html`);
  const seen = await page.evaluate(
    () =>
      new Promise((done) => {
        const look = (list) => {
          const found = list.getEntriesByName('first-contentful-paint')[0];
          if (found) done({ paint: found.startTime, answered: performance.getEntriesByType('navigation')[0].responseEnd });
        };
        new PerformanceObserver(look).observe({ type: 'paint', buffered: true });
      }),
  );
  await context.close();
  return seen;
}

async function paints(browser) {
  await paint(browser); // starts the browser's own processes
  const cold = [];
  const warm = [];
  for (let n = 0; n < STARTS; n += 1) {
    chill('portal');
    cold.push(await paint(browser));
    warm.push(await paint(browser));
  }
  for (const [name, all] of Object.entries({ 'cold function': cold, 'warm function': warm })) {
    row(`first paint, ${name}`, all.map(({ paint }) => paint));
    row(`of which until the document is there, ${name}`, all.map(({ answered }) => answered));
  }
}

const deliveries = (query, cursor) => api('GET', `/deliveries?${query}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`);

/** Makes deliveries: each change of the contact makes one for each endpoint that takes it. */
async function fill() {
  const contact = workspace.contacts[0].id;
  const { webhookEndpoints } = await api('GET', '/webhook-endpoints');
  const takers = webhookEndpoints.filter(({ state, events }) => state === 'ENABLED' && ['*', 'contact.updated'].some((type) => events.includes(type))).length;
  for (let n = 0; n * takers < DELIVERIES; n += 1) await api('PATCH', `/contacts/${contact}`, { firstName: `Contact ${n}` });
  const deepest = async () => {
    let [count, cursor] = [0, null];
    do {
      const page = await deliveries('pageSize=100', cursor);
      count += page.deliveries.length;
      cursor = page.cursor;
    } while (cursor);
    return count >= DELIVERIES && count;
  };
  return until('the deliveries', deepest);
}

async function log() {
  const count = await fill();
  for (const [what, query] of Object.entries({
    'the whole log': '',
    'one state': '&state=DELIVERED',
    'one type of event': '&eventType=contact.updated',
    'what nothing matches': '&state=CANCELLED',
  })) {
    const [times, cursors] = [[], [null]];
    for (let n = 0; n < PAGES; n += 1) {
      const cursor = cursors[n % cursors.length];
      await new Promise((resolve) => setTimeout(resolve, 30)); // below the key's rate limit
      const begun = performance.now();
      const page = await deliveries(`pageSize=50${query}`, cursor);
      times.push(performance.now() - begun);
      if (cursors.length < 10 && page.cursor && !cursors.includes(page.cursor)) cursors.push(page.cursor);
    }
    row(`a page of 50 of ${count} deliveries, ${what}`, times);
  }
}

console.log(`| ms${' '.repeat(56)} | median |    p95 |    max |`);
console.log(`|${'-'.repeat(60)}|${'-'.repeat(8)}|${'-'.repeat(8)}|${'-'.repeat(8)}|`);
const browser = await launch();
await paints(browser);
await browser.close();
await log();
