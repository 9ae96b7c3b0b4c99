// Prints the verdict of verify.js on each vector in the given file.
'use strict';

const { readFileSync } = require('node:fs');
const { verify, verifyLegacy } = require('./verify.js');

const verdicts = JSON.parse(readFileSync(process.argv[2])).map(({ headers, secrets, now, body: text, fill = 0 }) => {
  const body = Buffer.from(text.replace('{fill}', 'x'.repeat(fill)));
  return [verify(headers, body, secrets, now), verifyLegacy(headers, body, secrets)];
});
console.log(JSON.stringify(verdicts));
