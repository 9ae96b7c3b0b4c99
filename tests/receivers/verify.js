// Verifies webhooks. Node.js 18 or later, nothing to install.
'use strict';

const { createHmac, timingSafeEqual } = require('node:crypto');

const TOLERANCE = 5 * 60; // seconds, either way

// Whether a request was signed with one of your secrets, at most five minutes ago.
//
// headers: by name in lower case (`request.headers`); body: the raw bytes of the body, a Buffer; secrets: as displayed,
// during a rotation the old one and the new one; now: Unix seconds, `Math.floor(Date.now() / 1000)`.
function verify(headers, body, secrets, now) {
  const { 'webhook-id': id = '', 'webhook-timestamp': timestamp = '', 'webhook-signature': signature = '' } = headers;
  if (!id || !/^[0-9]{1,12}$/.test(timestamp) || Math.abs(now - Number(timestamp)) > TOLERANCE) {
    return false;
  }
  const signed = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
  const given = signature.split(' ');
  const keys = secrets.map((secret) => Buffer.from(secret.replace(/^whsec_/, ''), 'base64'));
  const expected = keys.map((key) => 'v1,' + hmacSha256(key, signed).toString('base64'));
  return given.some((one) => expected.some((other) => same(one, other)));
}

// Returns whether the body was signed with one of your secrets, without a check of the time.
function verifyLegacy(headers, body, secrets) {
  const given = headers['x-service-signature'] ?? '';
  const expected = secrets.map((secret) => 'sha256=' + hmacSha256(secret, body).toString('hex'));
  return expected.some((one) => same(given, one));
}

function hmacSha256(key, data) {
  return createHmac('sha256', key).update(data).digest();
}

// Compares in constant time.
function same(one, other) {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

module.exports = { verify, verifyLegacy };
