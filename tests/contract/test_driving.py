"""Each generated client calls every operation of a running stack."""

import json
import os
import pathlib
import sys

import pytest
from conftest import NODE, run
from document import operations

if "CONTRACT_API_KEY" not in os.environ:
    pytest.skip("run.py starts the stack that these tests need", allow_module_level=True)
STACK = json.loads(pathlib.Path(os.environ["STACK_FILE"]).read_text())
WORKSPACE = STACK["workspaces"][0]


def drive(folder, command, cellphone, without=frozenset()):
    """Runs a program. It prints the operations whose response it expected: all but those with these methods."""
    stack = {
        "baseUrl": STACK["baseUrl"],
        "captureUrl": STACK["captureUrl"],
        "apiKey": os.environ["CONTRACT_API_KEY"],
        "workspaceId": WORKSPACE["workspaceId"],
        "userId": WORKSPACE["users"][0]["id"],
        "email": WORKSPACE["users"][0]["email"],
        "cellphone": cellphone,
        # The simulated provider refuses numbers with this end.
        "refusedCellphone": f"+3460{cellphone[-3:]}0001",
        "origin": WORKSPACE["capture"]["origins"][0],
    }
    called = run(command, folder, CLIENT_STACK=json.dumps(stack)).split()
    wanted = [operation["operationId"] for _, method, operation, _ in operations() if method not in without]
    # A program may repeat a call.
    assert sorted(set(called)) == sorted(wanted)


def test_openapi_python_client(clients):
    drive(clients, [sys.executable, "drive.py"], "+34600111333")


@pytest.mark.parametrize("program, cellphone", [("drive_fetch", "+34600111334"), ("drive_hey", "+34600111335")])
def test_typescript(clients, program, cellphone):
    run([NODE / ".bin" / "tsc", "--project", "."], clients)
    drive(clients, ["node", f"js/{program}.js"], cellphone)


@pytest.mark.skipif("RUST_CLIENT" not in os.environ, reason="`make rust-client` builds the client")
def test_progenitor():
    drive(pathlib.Path.cwd(), [os.environ["RUST_CLIENT"]], "+34600111336", without={"options"})
