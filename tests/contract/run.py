"""Starts a stack as `make run` does, on free ports and with the last build, compares it with openapi.yaml, and stops it.

    run.py                          what `make test` runs: the same requests each time, some minutes
    run.py fuzz [MINUTES] [SEED]    different requests each time, 15 minutes by default
    run.py rust                     builds the client of progenitor, and lets it call every operation

First, test_requests.py compares the document with what the stack reads from requests, and test_scopes.py which scopes requests need. `make test` also lets the generated
clients call every operation (test_driving.py) and runs the programs of docs/quick-start.md (test_quick_start.py) and of docs/api.md
(test_template_reply.py). Then
Schemathesis generates requests from the document: its examples, the boundaries of every schema, random valid and invalid
requests, and chains of requests.
"""

import base64
import datetime
import hashlib
import json
import os
import pathlib
import secrets
import subprocess
import sys
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from local_stack import running  # noqa: E402

ROOT = HERE.parents[1]
BIN = ROOT / ".venv" / "bin"
# Field of stack.json -> paths of the API and phases of Schemathesis. Chains need something that is created and then read.
SURFACES = {
    "baseUrl": ("^/service/", "examples,coverage,fuzzing,stateful"),
    "captureUrl": ("^/(api/|health$)", "examples,coverage,fuzzing"),
}


def main(arguments):
    if arguments == ["rust"]:
        return rust()
    if arguments and (arguments[0] != "fuzz" or len(arguments) > 3):
        return __doc__
    minutes = int(arguments[1]) if len(arguments) > 1 else 15
    seed = int(arguments[2]) if len(arguments) > 2 else secrets.randbelow(2**32) if arguments else 1
    with running("contract") as file:
        stack = json.loads(file.read_text())
        environment = os.environ | made(stack) | {"STACK_FILE": str(file)}
        of_clients = [] if arguments else [HERE / name for name in ("test_driving.py", "test_quick_start.py", "test_template_reply.py")]
        tests = [HERE / "test_requests.py", HERE / "test_scopes.py", *of_clients]
        command = [BIN / "python", "-m", "pytest", "--quiet", "-p", "no:cacheprovider", *tests]
        status = subprocess.run(command, cwd=ROOT, env=environment).returncode
        for surface, (paths, phases) in SURFACES.items():
            # The larger API gets most of the time.
            seconds = minutes * 60 * 5 // 6 if surface == "baseUrl" else minutes * 60 // 6
            bound = ["--max-time", str(seconds)] if arguments else ["--max-examples", "8"]
            print(f"\n{surface}: seed {seed}", flush=True)
            command = [
                *(BIN / "schemathesis", "--config-file", HERE / "schemathesis.toml", "run", ROOT / "openapi.yaml"),
                *("--url", stack[surface], "--include-path-regex", paths, "--phases", phases),
                *("--seed", str(seed), *bound),
            ]
            # Schemathesis writes its own temporary files beside those of the stack.
            status = subprocess.run(command, cwd=file.parent, env=environment).returncode or status
        return status


def rust():
    target = ROOT / "target" / "clients"
    manifest = HERE / "clients" / "rust" / "Cargo.toml"
    command = ["cargo", "build", "--locked", "--manifest-path", manifest, "--target-dir", target]
    subprocess.run(command, check=True)
    with running("contract") as file:
        own = {"STACK_FILE": str(file), "RUST_CLIENT": str(target / "debug" / "rust-client")}
        environment = os.environ | made(json.loads(file.read_text())) | own
        tests = [f"{HERE / 'test_driving.py'}::test_progenitor"]
        command = [BIN / "python", "-m", "pytest", "--quiet", "-p", "no:cacheprovider", *tests]
        return subprocess.run(command, cwd=ROOT, env=environment).returncode


def made(stack):
    """Creates an API key with a high rate limit, and what requests need: a conversation with a message, an uploaded file, the preview of an
    erasure, webhook endpoints, a delivery, a job, a lead, and what requests may end."""
    workspace = stack["workspaces"][0]
    command = [stack["console"], "--json", "key", "create", "--workspace", workspace["workspaceId"]]
    options = ["--name", "contract", "--scope", "*", "--scope", "contacts:erase", "--rate", "500", "--burst", "30000"]
    key = json.loads(subprocess.run([*command, *options], check=True, stdout=subprocess.PIPE).stdout)["apiKey"]

    def call(resource, body=None):
        url = f"{stack['baseUrl']}/service/api/v1/workspaces/{workspace['workspaceId']}/{resource}"
        headers = {"x-api-key": key, "content-type": "application/json"}
        content = None if body is None else json.dumps(body).encode()
        return json.load(urllib.request.urlopen(urllib.request.Request(url, content, headers)))

    external = {"identifier": "+34600111222", "identifierType": "PHONE"}
    conversation = call("conversations", {"participants": {"externals": [external]}})
    message = call("messages", {"conversationId": conversation["id"], "messageBody": "Hello"})
    content = b"hello"
    digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
    file = {"name": "a.txt", "fileType": "DOCUMENT", "contentType": "text/plain", "checksumBase64": digest}
    [upload] = call("files", [file])
    presigned = upload["presignUrl"]
    request = urllib.request.Request(presigned["url"], content, presigned["headers"], method=presigned["method"])
    urllib.request.urlopen(request).close()
    # A second contact of a person, which a merge may take.
    call("conversations", {"participants": {"externals": [external | {"identifier": "+34600111333"}]}})
    [second] = call("contacts?search=%2B34600111333")["contacts"]
    # A key that random requests may revoke.
    spare = json.loads(subprocess.run([*command, "--name", "spare", "--scope", "users:read"], check=True, stdout=subprocess.PIPE).stdout)
    endpoints = [call("webhook-endpoints", {"url": "https://hooks.example.com/in", "receiverKey": "k"})["id"] for _ in range(3)]
    # A next secret, which a request may activate.
    call(f"webhook-endpoints/{endpoints[0]}/rotate-secret", {})
    # A delivery, and a job that was cancelled: the service may do a job before it is cancelled, and then refuses to.
    sent = call(f"webhook-endpoints/{endpoints[0]}/test", {})
    job = cancelled_job(lambda resource, body: call(f"webhook-endpoints/{endpoints[0]}/jobs{resource}", body))
    # A lead whose number the simulated provider refuses.
    ids = {"requestId": failed_lead(stack, call)}
    # A user and teams that random requests may change and delete.
    spare_user = call("users", {"email": "spare@example.com"})["id"]
    spare_team, deleted_team = (call("teams", {"name": name})["id"] for name in ("Spare", "Deleted"))
    # An attribute that random requests may change.
    spare_attribute = call("settings/attributes", {"keyName": "Spare", "category": "CLOSED", "values": ["Spare"]})
    [spare_value] = spare_attribute["closedAttributesValues"]
    opt_out = call("opt-outs", {"cellphone": "+34600111999"})
    preview = call(f"contacts/{workspace['contacts'][0]['id']}/erasure", {"dryRun": True})
    ids |= {"conversationId": conversation["id"], "messageId": message["messageId"], "mediaId": upload["mediaId"]}
    session = call("sessions", {})
    ids |= {"sessionId": session["session"]["id"]}
    ids |= sent | {"jobId": job}
    ids |= {"erasureId": preview["erasureId"], "secondContactId": second["id"], "keyId": spare["keyId"]}
    ids |= {"spareUserId": spare_user, "spareTeamId": spare_team, "deletedTeamId": deleted_team}
    ids |= {"optOutId": opt_out["id"]}
    ids |= {"spareAttributeId": spare_attribute["id"], "spareValueId": spare_value["id"]}
    ids |= dict(zip(("endpointId", "disabledEndpointId", "deletedEndpointId"), endpoints, strict=True))
    return {
        "CONTRACT_API_KEY": key,
        "CONTRACT_MADE": json.dumps(ids),
        "PYTHONPATH": str(HERE),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def failed_lead(stack, call):
    workspace = stack["workspaces"][0]
    # The demo's key, unless something rotated it.
    capture = call("settings/capture")
    lead = {
        "workspaceId": workspace["workspaceId"],
        "captureKey": capture["captureKey"],
        "cellphone": "+34602220001",
        "landingUri": f"{capture['origins'][0]}/spring",
        "consent": {"status": "GRANTED"},
        "recaptchaToken": f"pass-{secrets.token_hex(8)}",
    }
    headers = {"content-type": "application/json", "origin": capture["origins"][0]}
    url = f"{stack['captureUrl']}/api/v1/leadscout/campaign-leads"
    accepted = json.load(urllib.request.urlopen(urllib.request.Request(url, json.dumps(lead).encode(), headers)))
    until = time.monotonic() + 60
    while call(f"leads/{accepted['requestId']}")["state"] != "FAILED":
        if time.monotonic() > until:
            raise AssertionError("the lead did not fail within a minute")
        time.sleep(0.1)
    return accepted["requestId"]


def cancelled_job(call):
    now = datetime.datetime.now(datetime.UTC)
    for minutes in range(60):
        since = (now - datetime.timedelta(minutes=minutes + 1)).strftime("%Y-%m-%dT%H:%M:%SZ")
        job = call("", {"what": "REPLAY", "since": since})["id"]
        try:
            return call(f"/{job}/cancel", {})["id"]
        except urllib.error.HTTPError as refused:
            if refused.code != 409:
                raise
    raise AssertionError("each job was done before it was cancelled")


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit("interrupted")
