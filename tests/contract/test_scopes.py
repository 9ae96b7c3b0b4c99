"""Each request with keys of the demo's second workspace: a key needs the scope that openapi.yaml names, and no other one."""

import json
import subprocess
import urllib.request

import pytest
import stack
from document import operations
from stack import STACK

WORKSPACE, KEY = (STACK["workspaces"][1][name] for name in ("workspaceId", "apiKey"))
SCOPES = sorted({operation["x-scope"] for _, _, operation, _ in operations() if "x-scope" in operation})
OPERATIONS = [
    pytest.param(path, method, operation["x-scope"], id=operation["operationId"])
    for path, method, operation, _ in operations()
    if "x-scope" in operation
]


def ask(key, path, method):
    """The status and the body of a request that changes nothing but a capture key that nobody uses: it names nobody, and its body is empty."""
    return stack.ask(WORKSPACE, key, path, method, {} if method in ("post", "patch", "put") else None)


def make(*options):
    command = [STACK["console"], "--json", "key", "create", "--workspace", WORKSPACE, "--name", "scopes", *options]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)["apiKey"]


def post(key, resource, body):
    url = f"{STACK['baseUrl']}/service/api/v1/workspaces/{WORKSPACE}/{resource}"
    headers = {"x-api-key": key, "content-type": "application/json"}
    return json.load(urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)))


@pytest.fixture(scope="module")
def with_only():
    """Scope -> a key that has it and no other."""
    return {scope: make("--scope", scope) for scope in SCOPES}


@pytest.fixture(scope="module")
def without():
    """Scope -> a key that has all others."""
    others = {scope: [option for other in SCOPES if other != scope for option in ("--scope", other)] for scope in SCOPES}
    return {scope: make(*options) for scope, options in others.items()}


@pytest.fixture(scope="module")
def roles():
    """Role -> the key of a session that a link with this role started, and the scopes that the link names."""
    admin, sessions = make("--scope", "*"), {}
    for role in ("VIEWER", "DEVELOPER", "ADMIN"):
        link = post(admin, "portal-links", {"role": role})
        started = post(link["url"].rsplit("/", 1)[1], "sessions", {})
        sessions[role] = (started["apiKey"], link["scopes"])
    return sessions


@pytest.fixture(scope="module")
def refusal(without):
    """The one body of every 403: an unknown key gets it too."""
    path = "/service/api/v1/workspaces/{workspaceId}/contacts"
    status, body = ask(KEY[:-1] + ("a" if KEY[-1] != "a" else "b"), path, "get")
    assert status == 403
    return body


@pytest.mark.parametrize("path, method, scope", OPERATIONS)
def test_a_request_needs_its_scope_and_no_other(path, method, scope, with_only, without, refusal):
    assert ask(without[scope], path, method) == (403, refusal)
    status, body = ask(with_only[scope], path, method)
    assert status not in (401, 403, 500, 503), body


@pytest.mark.parametrize("path, method, scope", OPERATIONS)
def test_a_role_may_send_the_requests_of_its_scopes(path, method, scope, roles, refusal):
    for role, (key, scopes) in roles.items():
        status, body = ask(key, path, method)
        if scope in scopes:
            assert status not in (401, 403, 500, 503), (role, body)
        else:
            assert (status, body) == (403, refusal), role
