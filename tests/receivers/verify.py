"""Verifies webhooks. Python 3.9 or later, the standard library alone."""

import base64
import hashlib
import hmac
import re

TOLERANCE = 5 * 60  # seconds, either way


def verify(headers, body, secrets, now):
    """Whether a request was signed with one of your secrets, at most five minutes ago.

    headers: by name in lower case; body: the raw bytes of the body; secrets: as displayed, during a rotation the old one
    and the new one; now: Unix seconds, `int(time.time())`.
    """
    event_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not event_id or not re.fullmatch("[0-9]{1,12}", timestamp) or abs(now - int(timestamp)) > TOLERANCE:
        return False
    signed = f"{event_id}.{timestamp}.".encode() + body
    given = headers.get("webhook-signature", "").split(" ")
    keys = [base64.b64decode(secret.removeprefix("whsec_")) for secret in secrets]
    expected = ["v1," + base64.b64encode(hmac_sha256(key, signed)).decode() for key in keys]
    return any(same(one, other) for one in given for other in expected)


def verify_legacy(headers, body, secrets):
    """Returns whether the body was signed with one of your secrets, without a check of the time."""
    given = headers.get("x-service-signature", "")
    expected = ["sha256=" + hmac_sha256(secret.encode(), body).hex() for secret in secrets]
    return any(same(given, one) for one in expected)


def hmac_sha256(key, data):
    return hmac.new(key, data, hashlib.sha256).digest()


def same(one, other):
    """Compares in constant time."""
    return hmac.compare_digest(one.encode(), other.encode())
