// A page can upload a file with the response of endpoint 10: the bucket allows the browser's preflight.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';

import { launch, open, stack, workspace } from './stack.js';

const TEXT = 'A file from a page: señal, 🌍.\n';

let browser;
before(async () => (browser = await launch()));
after(() => browser?.close());

/** Requests an upload as a tenant's own server does. The API key never reaches a page. */
async function prepared(text, rest = {}) {
  const answer = await fetch(`${stack.baseUrl}/service/api/v1/workspaces/${workspace.workspaceId}/files`, {
    method: 'POST',
    headers: { 'x-api-key': workspace.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify([
      {
        name: 'note.txt',
        fileType: 'DOCUMENT',
        contentType: 'text/plain',
        checksumBase64: createHash('sha256').update(text).digest('base64'),
        ...rest,
      },
    ]),
  });
  assert.equal(answer.status, 201);
  return (await answer.json())[0].presignUrl;
}

async function uploaded(page, { url, method, headers }, body) {
  return page.evaluate(
    async ({ url, method, headers, body }) => (await fetch(url, { method, headers, body })).status,
    { url, method, headers, body },
  );
}

test('a page uploads a file with the URL and headers that it was given', async () => {
  const page = await open(browser, stack.landingUrl);
  assert.equal(await uploaded(page, await prepared(TEXT), TEXT), 200);
  // A declared size is signed too. The browser itself sends `Content-Length`; a page cannot set it.
  const measured = await prepared(TEXT, { contentLength: Buffer.byteLength(TEXT) });
  assert.equal(await uploaded(page, measured, TEXT), 200);
});

test('a page cannot upload a different file with the same URL', async () => {
  const page = await open(browser, stack.landingUrl);
  const place = await prepared(TEXT);
  assert.equal(await uploaded(page, place, TEXT.toUpperCase()).catch(() => 'no response'), 400);
});
