"""Checks which secrets verify a delivery, with `standardwebhooks` from PyPI and, for the legacy header, Python's hmac.

Standard input: {body (base64), headers, secrets}. Standard output: {standard: [...], legacy: [...]}.
"""

import base64
import hashlib
import hmac
import json
import sys

from standardwebhooks import Webhook, WebhookVerificationError

given = json.load(sys.stdin)
body, headers = base64.b64decode(given["body"]), given["headers"]


def by_standard(secret):
    try:
        Webhook(secret).verify(body.decode(), headers)
    except WebhookVerificationError:
        return False
    return True


def by_legacy(secret):
    expected = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected, headers["x-service-signature"])


secrets = given["secrets"]
print(json.dumps({"standard": [*map(by_standard, secrets)], "legacy": [*map(by_legacy, secrets)]}))
