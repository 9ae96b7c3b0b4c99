"""Starts a stack as `make run` does, on free ports and with the last build. Runs the browser tests against it and stops
it.

    run.py [argument of node --test]...
"""

import os
import pathlib
import subprocess
import sys
import threading

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
STATE = ROOT / "target" / "stacks" / "browser"
NODE = ["node", "--test", "--test-reporter=spec"]


def main(arguments):
    command = [ROOT / "target" / "debug" / "local", "run", "--no-build", "--port", "0", "--state-dir", STATE]
    stack = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    try:
        for line in stack.stdout:
            if line.startswith("The stack is up."):
                break
        else:
            return "The stack did not start."
        # Read the rest of the output, so that the pipe does not fill up.
        threading.Thread(target=stack.stdout.read, daemon=True).start()
        environment = os.environ | {"STACK_FILE": str(STATE / "stack.json")}
        return subprocess.run([*NODE, *arguments], cwd=HERE, env=environment).returncode
    finally:
        stack.terminate()
        stack.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
