// Checks which secrets verify a delivery, with third-party libraries.
//
// Standard input: {body (base64), headers, secrets}. Standard output: {standard: [...], legacy: [...]}. The lists say of
// each secret whether it verifies webhook-signature (npm `standardwebhooks`) and X-Service-Signature (npm
// `@octokit/webhooks-methods`).

import { text } from 'node:stream/consumers'
import { verify } from '@octokit/webhooks-methods'
import { Webhook } from 'standardwebhooks'

const { body, headers, secrets } = JSON.parse(await text(process.stdin))
const payload = Buffer.from(body, 'base64').toString()

const byStandard = (secret) => {
  try {
    new Webhook(secret).verify(payload, headers)
    return true
  } catch (error) {
    if (error.name === 'WebhookVerificationError' || error.constructor.name === 'WebhookVerificationError') return false
    throw error
  }
}

const standard = secrets.map(byStandard)
const legacy = await Promise.all(secrets.map((secret) => verify(secret, payload, headers['x-service-signature'])))
console.log(JSON.stringify({ standard, legacy }))
