"""Asks the running stack, for the tests that run.py starts."""

import json
import os
import pathlib
import re
import urllib.error
import urllib.request

import pytest

if "CONTRACT_API_KEY" not in os.environ:
    pytest.skip("run.py starts the stack that these tests need", allow_module_level=True)
STACK = json.loads(pathlib.Path(os.environ["STACK_FILE"]).read_text())
SOMEBODY = "00000000-0000-4000-8000-000000000000"


def ask(workspace, key, path, method, sent=None):
    """The status and the body of a request of a workspace, which names nobody."""
    path = path.replace("{workspaceId}", workspace).replace("{deliveryId}", f"{SOMEBODY}.{SOMEBODY}")
    path = path.replace("{optOutId}", f"0.{'0' * 64}")
    path = re.sub(r"\{[a-zA-Z]+\}", SOMEBODY, path)
    data = None if sent is None else json.dumps(sent).encode()
    headers = {"x-api-key": key, "content-type": "application/json"}
    request = urllib.request.Request(STACK["baseUrl"] + path, data, headers, method=method.upper())
    try:
        answer = urllib.request.urlopen(request)
    except urllib.error.HTTPError as refusal:
        answer = refusal
    with answer:
        return answer.status, answer.read()
