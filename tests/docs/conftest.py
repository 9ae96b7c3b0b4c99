"""A running stack for the pages' commands, as `make run` starts it: on free ports, with what was built last."""

import json
import pathlib
import subprocess
import threading

import pytest

ROOT = pathlib.Path(__file__).parents[2]
STATE = ROOT / "target" / "stacks" / "docs"


@pytest.fixture(scope="session")
def stack():
    """The stack's file, with its own path as `file`."""
    command = [ROOT / "target" / "debug" / "local", "run", "--no-build", "--port", "0", "--state-dir", STATE]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    try:
        if not any(line.startswith("The stack is up.") for line in process.stdout):
            pytest.exit("The stack did not come up.")
        # The stack goes on printing; nobody needs it, but it must not fill the pipe.
        threading.Thread(target=process.stdout.read, daemon=True).start()
        file = STATE / "stack.json"
        yield json.loads(file.read_text()) | {"file": file}
    finally:
        process.terminate()
        process.wait()
