"""The programs of docs/api.md that send a template and wait for its reply, as a reader copies them."""

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
import uuid

import pytest
from conftest import ENVIRONMENT, NODE, ROOT, run

PAGE = (ROOT / "docs" / "api.md").read_text()
STACK = json.loads(open(os.environ["STACK_FILE"]).read()) if "CONTRACT_API_KEY" in os.environ else None
on_a_stack = pytest.mark.skipif(STACK is None, reason="run.py starts the stack that these tests need")


def program(language):
    [block] = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.M | re.S)
    return block


def test_the_programs_have_under_30_lines():
    for language in ("python", "ts"):
        assert program(language).count("\n") < 30


def asked(url, body=None):
    content = None if body is None else json.dumps(body).encode()
    headers = {"x-api-key": os.environ["CONTRACT_API_KEY"], "content-type": "application/json"}
    return json.load(urllib.request.urlopen(urllib.request.Request(url, content, headers)))


def workspace_url(path):
    return f"{STACK['baseUrl']}/service/api/v1/workspaces/{STACK['workspaces'][0]['workspaceId']}/{path}"


def until(condition, what):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.1)
    pytest.fail(what)


def id_at_the_provider(conversation):
    """The provider's id of the template that the program sent, once it is sent."""
    [message, *_] = asked(workspace_url(f"conversations/{conversation}/messages?direction=OUTBOUND"))["messages"] or [None]
    return message and message["parts"][0]["providerMessageId"]


def answered(command, folder, text):
    """What the program prints after the customer replied to its template with this text."""
    number = f"+34600{uuid.uuid4().int % 10**6:06}"
    external = {"identifier": number, "identifierType": "PHONE"}
    conversation = asked(
        workspace_url("conversations"), {"participants": {"externals": [external]}, "onboardingTemplates": []}
    )["id"]
    settings = {
        "API_URL": STACK["baseUrl"],
        "API_KEY": os.environ["CONTRACT_API_KEY"],
        "WORKSPACE_ID": STACK["workspaces"][0]["workspaceId"],
        "CONVERSATION_ID": conversation,
    }
    running = subprocess.Popen(
        command, cwd=folder, env=ENVIRONMENT | settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        context = until(lambda: id_at_the_provider(conversation), "the template is not sent")
        line = STACK["workspaces"][0]["lines"][0]["providerChannelId"]
        said = {"phoneNumberId": line, "from": number}
        # Another text, which is no reply, comes first.
        for more in ({"text": "Who is this?"}, {"text": text, "contextId": context}):
            asked(f"{STACK['providerUrl']}/inbound", said | more)
        return running.communicate(timeout=60)[0]
    finally:
        running.kill()


@on_a_stack
def test_the_python_program_prints_the_reply(tmp_path):
    (tmp_path / "template.py").write_text(program("python"))
    assert re.fullmatch(r"\S{36} TEXT Great!\n", answered([sys.executable, "template.py"], tmp_path, "Great!"))


@on_a_stack
def test_the_typescript_program_prints_the_reply(tmp_path):
    (tmp_path / "node_modules").symlink_to(NODE)
    (tmp_path / "template.mts").write_text(program("ts"))
    run(["npx", "tsc", "--strict", "--target", "es2022", "--module", "nodenext", "--types", "node", "template.mts"], tmp_path)
    assert re.fullmatch(r"\S{36} TEXT Perfect\n", answered(["node", "template.mjs"], tmp_path, "Perfect"))
