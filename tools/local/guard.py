"""Refuses what web pages ask of the emulator.

A page that a developer has open can send requests to this machine: by a form, without asking, from any origin. A page can even
let its own host name point to 127.0.0.1, and then read the answers. The emulator would take such a request, with credentials that
everybody knows, and it runs programs. So the guard looks at three headers that a page cannot change, before anything else:

Host            must be a name of this machine, with a port of the stack
Origin          must be absent, or the origin of this server
Sec-Fetch-Site  must be absent, `none` (a person typed the address) or `same-origin`

Programs that are no browsers send no `Origin` and no `Sec-Fetch-Site`. tools/local/src/guard.rs has the same rule for the servers
in Rust. Two kinds of request may come from any page, as on AWS: those to the APIs, which decide themselves, and presigned uploads
and downloads.
"""

import re
from urllib.parse import parse_qs

LOCAL_HOST = re.compile(r"(localhost|127\.0\.0\.1|\[::1\]|[a-z0-9.-]+\.localhost)(?::([0-9]{1,5}))?")
DEFAULT_PORTS = {"http": 80, "https": 443}

# The path of an API behind the gateway: its id and its stage follow.
OF_AN_API = re.compile(r"/_aws/execute-api/[^/]+/.*", re.DOTALL)
# AWS names temporary keys like this. The emulator checks signatures of these only, and everybody knows its root key.
TEMPORARY_KEY = "ASIA"
METHODS_OF_OBJECTS = ("GET", "HEAD", "PUT", "OPTIONS")


class Guard:
    """An ASGI application in front of another one, which listens on `port`. `ports` are those of Host. `is_s3(method, path, headers,
    query)` says whether the emulator would take a request as one of S3."""

    def __init__(self, behind, ports, is_s3):
        self.behind = behind
        self.ports = ports
        self.is_s3 = is_s3

    async def __call__(self, scope, receive, send):
        reason = self.reason_to_refuse(scope) if scope["type"] in ("http", "websocket") else None
        if reason is None:
            await self.behind(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            text = refusal(reason)
            headers = [(name.encode(), value.encode()) for name, value in HEADERS_OF_REFUSAL]
            headers.append((b"content-length", str(len(text)).encode()))
            await send({"type": "http.response.start", "status": 403, "headers": headers})
            await send({"type": "http.response.body", "body": text})

    def reason_to_refuse(self, scope):
        headers = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
        secure = scope.get("scheme") in ("https", "wss")
        if (reason := foreign_host(headers, self.ports, secure)) or self.may_come_from_any_page(scope, headers):
            return reason
        return foreign_page(headers, secure)

    def may_come_from_any_page(self, scope, headers):
        if scope["type"] != "http":
            return False
        return OF_AN_API.fullmatch(scope["path"]) is not None or self.is_presigned(scope, dict(headers))

    def is_presigned(self, scope, headers):
        """A request for an object of S3, whose URL a function has signed with its own key."""
        method, path = scope["method"], scope["path"]
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
        # The emulator also reads these names in lower case and in an older form, so each must be there once.
        names = [name.lower() for name in query]
        signed = [query.get(f"X-Amz-{name}", []) for name in ("Algorithm", "Credential", "Signature")]
        if len(set(names)) < len(names) or "awsaccesskeyid" in names or any(len(values) != 1 for values in signed):
            return False
        algorithm, credential = signed[0][0], signed[1][0].split("/")
        return (
            method in METHODS_OF_OBJECTS
            and not path.startswith("/_")
            and "authorization" not in headers
            and "x-amz-target" not in headers
            and algorithm == "AWS4-HMAC-SHA256"
            and credential[0].startswith(TEMPORARY_KEY)
            and credential[3:] == ["s3", "aws4_request"]
            and self.is_s3(method, path, headers, query)
        )


HEADERS_OF_REFUSAL = [("content-type", "text/plain; charset=utf-8"), ("connection", "close")]


def refusal(reason):
    return f"The local stack refuses this request, because a web page may have sent it: {reason}.\n".encode()


def reason_to_refuse(headers, ports, secure=False):
    """Why a server on one of these ports refuses a request with these headers, or None."""
    headers = [(name.lower(), value) for name, value in headers]
    return foreign_host(headers, ports, secure) or foreign_page(headers, secure)


def foreign_host(headers, ports, secure):
    """Why the headers do not name this server, or None."""
    hosts = [value for name, value in headers if name == "host"]
    found = LOCAL_HOST.fullmatch(hosts[0].lower()) if len(hosts) == 1 else None
    if found is None or int(found[2] or DEFAULT_PORTS["https" if secure else "http"]) not in ports:
        return "Host is not this server"
    return None


def foreign_page(headers, secure):
    """Why a page of another origin may have sent the request, or None."""
    own = f"{'https' if secure else 'http'}://{dict(headers)['host'].lower()}"
    if any(value.lower() != own for name, value in headers if name == "origin"):
        return "Origin is not this server"
    if any(value not in ("none", "same-origin") for name, value in headers if name == "sec-fetch-site"):
        return "Sec-Fetch-Site is not this server"
    return None
