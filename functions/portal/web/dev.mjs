// Serves the portal for its developers: a fresh build at each load, and a running stack (`make run`) for everything else.
//
//   node dev.mjs [port]

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, request } from 'node:http';

import { document } from './build.mjs';

const stack = JSON.parse(readFileSync(new URL('../../../.local/stack.json', import.meta.url), 'utf8'));
const port = Number(process.argv[2] ?? 8790);

const digest = (html, tag) => `'sha256-${createHash('sha256').update(html.split(`<${tag}>`)[1].split(`</${tag}>`)[0]).digest('base64')}'`;

async function page(response) {
  const html = await document();
  const policy = [
    "default-src 'none'",
    `script-src ${digest(html, 'script')}`,
    `style-src ${digest(html, 'style')}`,
    "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "require-trusted-types-for 'script'; trusted-types 'none'",
  ];
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy.join('; ') }).end(html);
}

function forward(asked, response) {
  const to = new URL(stack.baseUrl + asked.url);
  // The stack refuses requests that name another server, because a page of somebody else could have sent them.
  const { origin, referer, 'sec-fetch-site': site, ...headers } = asked.headers;
  const onward = request(to, { method: asked.method, headers: { ...headers, host: to.host } }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  onward.on('error', (error) => response.writeHead(502).end(String(error)));
  asked.pipe(onward);
}

createServer((asked, response) => {
  if (asked.url !== '/portal/index.html') return forward(asked, response);
  page(response).catch((error) => response.writeHead(500, { 'content-type': 'text/plain' }).end(String(error)));
}).listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port}/portal/index.html`));
