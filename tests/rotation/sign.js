// Signs a webhook as the messaging provider does, with a third-party library (npm `@octokit/webhooks-methods`).
//
// Standard input: {secret, body}. Standard output: the value of the header X-Hub-Signature-256.

import { text } from 'node:stream/consumers'
import { sign } from '@octokit/webhooks-methods'

const { secret, body } = JSON.parse(await text(process.stdin))
console.log(await sign(secret, body))
