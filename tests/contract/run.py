"""Starts a stack as `make run` does, on free ports and with what was built last, holds it against openapi.yaml, and ends it.

    run.py              what `make test` runs: the same requests each time, about two minutes
    run.py fuzz [MINUTES] [SEED]    other requests each time, for 15 minutes if nothing is said

First what a request is read from is compared with the document (test_requests.py), then Schemathesis makes requests of it:
the examples, the edges of every schema, random ones both fit and unfit, and chains of them.
"""

import base64
import contextlib
import hashlib
import json
import os
import pathlib
import secrets
import subprocess
import sys
import threading
import urllib.request

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
STATE = ROOT / "target" / "stacks" / "contract"
BIN = ROOT / ".venv" / "bin"
# Where each is in stack.json, its paths, and what is done with it: chains need something that is made and then asked for.
SURFACES = {
    "baseUrl": ("^/service/", "examples,coverage,fuzzing,stateful"),
    "captureUrl": ("^/(api/|health$)", "examples,coverage,fuzzing"),
}


def main(arguments):
    if arguments and (arguments[0] != "fuzz" or len(arguments) > 3):
        return __doc__
    minutes = int(arguments[1]) if len(arguments) > 1 else 15
    seed = int(arguments[2]) if len(arguments) > 2 else secrets.randbelow(2**32) if arguments else 1
    with running() as stack:
        environment = os.environ | made(stack)
        command = [BIN / "python", "-m", "pytest", "--quiet", "-p", "no:cacheprovider", HERE / "test_requests.py"]
        status = subprocess.run(command, cwd=ROOT, env=environment).returncode
        for surface, (paths, phases) in SURFACES.items():
            # Most of the time goes to the surface with most to it.
            seconds = minutes * 60 * 5 // 6 if surface == "baseUrl" else minutes * 60 // 6
            bound = ["--max-time", str(seconds)] if arguments else ["--max-examples", "60"]
            print(f"\n{surface}: seed {seed}", flush=True)
            command = [
                *(BIN / "schemathesis", "--config-file", HERE / "schemathesis.toml", "run", ROOT / "openapi.yaml"),
                *("--url", stack[surface], "--include-path-regex", paths, "--phases", phases),
                *("--seed", str(seed), *bound),
            ]
            # Its own files, of no use to anybody later, go where the stack's are.
            status = subprocess.run(command, cwd=STATE, env=environment).returncode or status
        return status


@contextlib.contextmanager
def running():
    command = [ROOT / "target" / "debug" / "local", "run", "--no-build", "--port", "0", "--state-dir", STATE]
    stack = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    try:
        if not any(line.startswith("The stack is up.") for line in stack.stdout):
            sys.exit("The stack did not come up.")
        # What it says from now on is nobody's business, but must not fill the pipe.
        threading.Thread(target=stack.stdout.read, daemon=True).start()
        yield json.loads((STATE / "stack.json").read_text())
    finally:
        stack.terminate()
        stack.wait()


def made(stack):
    """A key that is not slowed down, and with it what requests are about: a conversation, an uploaded file."""
    workspace = stack["workspaces"][0]
    command = [stack["console"], "--json", "key", "create", "--workspace", workspace["workspaceId"]]
    options = ["--name", "contract", "--scope", "*", "--rate", "500", "--burst", "30000"]
    key = json.loads(subprocess.run([*command, *options], check=True, stdout=subprocess.PIPE).stdout)["apiKey"]

    def post(resource, body):
        url = f"{stack['baseUrl']}/service/api/v1/workspaces/{workspace['workspaceId']}/{resource}"
        headers = {"x-api-key": key, "content-type": "application/json"}
        return json.load(urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)))

    external = {"identifier": "+34600111222", "identifierType": "PHONE"}
    conversation = post("conversations", {"participants": {"externals": [external]}})
    content = b"hello"
    digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
    file = {"name": "a.txt", "fileType": "DOCUMENT", "contentType": "text/plain", "checksumBase64": digest}
    [upload] = post("files", [file])
    presigned = upload["presignUrl"]
    request = urllib.request.Request(presigned["url"], content, presigned["headers"], method=presigned["method"])
    urllib.request.urlopen(request).close()
    objects = {"conversationId": conversation["id"], "mediaId": upload["mediaId"]}
    return {
        "STACK_FILE": str(STATE / "stack.json"),
        "CONTRACT_API_KEY": key,
        "CONTRACT_MADE": json.dumps(objects),
        "PYTHONPATH": str(HERE),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit("interrupted")
