"""The programs of docs/quick-start.md as a reader copies them: their types, and what they do with a running stack."""

import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import urllib.request

import pytest
from conftest import ENVIRONMENT, NODE, PROGRAMS, ROOT, run

PAGE = (ROOT / "docs" / "quick-start.md").read_text()
UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
PRINTED = rf"\d+ contacts; Augusta gets message ({UUID})\n"

STACK = json.loads(pathlib.Path(os.environ["STACK_FILE"]).read_text()) if "CONTRACT_API_KEY" in os.environ else None
on_a_stack = pytest.mark.skipif(STACK is None, reason="run.py starts the stack that this test needs")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.M | re.S)


def commands(first_word):
    """The commands of the page that begin with this word."""
    lines = [line for block in blocks("sh by-hand") for line in block.splitlines()]
    return [line.split() for line in lines if line.startswith(first_word)]


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """A folder with quick_start.py and its client."""
    folder = tmp_path_factory.mktemp("python")
    shutil.copy(ROOT / "openapi.yaml", folder)
    [generate] = commands("openapi-python-client")
    run([*generate, "--fail-on-warning"], folder)
    (folder / "quick_start.py").write_text("".join(blocks("python")))
    return folder


@pytest.fixture(scope="module")
def typescript(tmp_path_factory):
    """A folder with quick-start.mts and its types. The installed packages are those of the other clients."""
    folder = tmp_path_factory.mktemp("typescript")
    shutil.copy(ROOT / "openapi.yaml", folder)
    (folder / "node_modules").symlink_to(NODE)
    for generate in commands("npx openapi-typescript"):
        run(generate, folder)
    (folder / "quick-start.mts").write_text("".join(blocks("ts")))
    [build] = commands("npx tsc")
    run([*build, "--noUncheckedIndexedAccess"], folder)
    return folder


def test_the_page_names_the_packages_that_these_tests_use():
    installed = json.loads((PROGRAMS / "package.json").read_text())["devDependencies"]
    for command in commands("npm install"):
        assert {word for word in command[2:] if word != "--save-dev"} <= set(installed)
    required = {line.split("==")[0] for line in (ROOT / "tests" / "requirements.txt").read_text().splitlines()}
    [command] = commands("pip install")
    assert set(command[2:]) <= required


def test_python_type_checks_strictly(python):
    shutil.copy(PROGRAMS / "mypy.ini", python)
    run(["mypy", "--config-file", "mypy.ini", "--cache-dir", ".mypy", "quick_start.py"], python)


def test_typescript_type_checks_strictly(typescript):
    assert (typescript / "quick-start.mjs").is_file()


def settings():
    workspace = STACK["workspaces"][0]
    return {
        "API_URL": STACK["baseUrl"],
        "API_KEY": os.environ["CONTRACT_API_KEY"],
        "WORKSPACE_ID": workspace["workspaceId"],
        "WEBHOOK_SECRET": workspace["webhook"]["secret"],
        "DELIVERY": json.dumps(delivery()),
    }


def delivery():
    """The headers and the body of the last delivery about a changed contact, at most a minute old."""
    workspace = STACK["workspaces"][0]
    url = f"{STACK['baseUrl']}/service/api/v1/workspaces/{workspace['workspaceId']}/contacts/{workspace['contacts'][1]['id']}"
    headers = {"x-api-key": os.environ["CONTRACT_API_KEY"], "content-type": "application/json"}
    name = f"Ada {time.time_ns()}"
    body = json.dumps({"firstName": name}).encode()
    urllib.request.urlopen(urllib.request.Request(url, body, headers, method="PATCH")).close()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for request in json.load(urllib.request.urlopen(f"{STACK['receiverLedgerUrl']}/ledger")):
            body = base64.b64decode(request["body"]).decode()
            if name in body:
                return {"headers": request["headers"], "body": body, "name": name}
        time.sleep(0.1)
    pytest.fail("the webhook did not come")


def printed(command, folder):
    environment = ENVIRONMENT | settings()
    done = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


# Both drivers: pages of 20 instead of 100 show all contacts, each once. Another writer changes the
# contact between the program's first read and its update, and the program reads again. A genuine webhook is received,
# and a changed one is not. They print the name in the webhook.
DRIVE_PYTHON = """
import json, os
import quick_start
from messaging_client.api.contacts import get_contact, list_contacts, update_contact
from messaging_client.models import ContactUpdate
from standardwebhooks import WebhookVerificationError

whole, pages = list_contacts.sync, []

def page(*arguments, **named):
    pages.append(whole(*arguments, **(named | {"page_size": 20})))
    return pages[-1]

list_contacts.sync = page
contacts = list(quick_start.all_contacts())
everybody = whole(quick_start.workspace, client=quick_start.client, page_size=100).contacts
assert [one.id for one in contacts] == [one.id for one in everybody]
assert len(pages) > 2, len(pages)

contact = contacts[0]
genuine, reads = get_contact.sync_detailed, []

def read(*arguments, **named):
    found = genuine(*arguments, **named)
    reads.append(found)
    if len(reads) == 1:
        other = ContactUpdate(first_name=f"Other {found.headers['ETag'][1:9]}")
        update_contact.sync_detailed(*arguments, client=named["client"], body=other)
    return found

get_contact.sync_detailed = read
assert quick_start.rename(contact.id, "Grace").first_name == "Grace"
assert len(reads) == 2, len(reads)

delivery = json.loads(os.environ["DELIVERY"])
quick_start.receive(delivery["headers"], delivery["body"].encode())
try:
    quick_start.receive(delivery["headers"], delivery["body"].replace("Ada", "Eve").encode())
except WebhookVerificationError:
    print("refused")
"""
DRIVE_TYPESCRIPT = """
const genuine = globalThis.fetch;
let reads = 0;
let pages = 0;
let isPaging = false;
let isWatching = false;
globalThis.fetch = async (request) => {
  if (isPaging) pages += 1;
  const answer = await genuine(isPaging ? new Request(request.url.replace("pageSize=100", "pageSize=20"), request) : request);
  if (isWatching && request.method === "GET" && (reads += 1) === 1) {
    const body = JSON.stringify({ firstName: `Other ${answer.headers.get("etag").slice(1, 9)}` });
    const headers = { "x-api-key": process.env.API_KEY, "content-type": "application/json" };
    const other = await genuine(request.url, { method: "PATCH", headers, body });
    if (!other.ok) throw new Error(String(other.status));
  }
  return answer;
};
const { allContacts, receive, rename } = await import("./quick-start.mjs");
const idsOf = async () => {
  const ids = [];
  for await (const { id } of allContacts()) ids.push(id);
  return ids;
};
const everybody = await idsOf();
isPaging = true;
const ids = await idsOf();
isPaging = false;
if (pages < 3 || ids.join() !== everybody.join()) throw new Error(`${pages} pages, ${ids.length} contacts`);

const contact = { id: ids[0] };
isWatching = true;
if ((await rename(contact.id, "Grace")).firstName !== "Grace" || reads !== 2) throw new Error(`${reads} reads`);

const { headers, body } = JSON.parse(process.env.DELIVERY);
receive(headers, body);
try {
  receive(headers, body.replace("Ada", "Eve"));
} catch (error) {
  console.log(error.constructor.name === "WebhookVerificationError" ? "refused" : error);
}
"""


@on_a_stack
def test_the_python_program_does_what_the_page_says(python):
    [first] = re.fullmatch(PRINTED, printed([sys.executable, "quick_start.py"], python)).groups()
    # The same key is the same message.
    assert re.fullmatch(PRINTED, printed([sys.executable, "quick_start.py"], python)).groups() == (first,)
    (python / "drive.py").write_text(DRIVE_PYTHON)
    assert re.fullmatch(r"updated: Ada \d+\nrefused\n", printed([sys.executable, "drive.py"], python))


@on_a_stack
def test_the_typescript_program_does_what_the_page_says(typescript):
    [start] = commands("node ")
    [first] = re.fullmatch(PRINTED, printed(start, typescript)).groups()
    (typescript / "drive.mjs").write_text(DRIVE_TYPESCRIPT)
    # The import runs the program again. The same key is the same message.
    assert re.fullmatch(rf"{PRINTED}updated: Ada \d+\nrefused\n", printed(["node", "drive.mjs"], typescript)).groups() == (first,)
