"""Starts a local stack for tests as `make run` does, on free ports and with the last build, and stops it."""

import contextlib
import pathlib
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).parents[1]


@contextlib.contextmanager
def running(name, *arguments):
    """The path of the stack's file, stack.json. The stack keeps its state in target/stacks/<name>."""
    state = ROOT / "target" / "stacks" / name
    command = [ROOT / "target" / "debug" / "local", "run", "--no-build", "--port", "0", "--state-dir", state, *arguments]
    stack = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    try:
        if not any(line.startswith("The stack is up.") for line in stack.stdout):
            sys.exit("The stack did not start.")
        # Read the rest of the output, so that the pipe does not fill up.
        threading.Thread(target=stack.stdout.read, daemon=True).start()
        yield state / "stack.json"
    finally:
        stack.terminate()
        stack.wait()
