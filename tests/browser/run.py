"""Starts a stack as `make run` does, on free ports and with the last build. Runs the browser tests against it and stops
it.

    run.py [argument of node --test]...
    run.py speed                           measures the portal instead
"""

import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from local_stack import running  # noqa: E402

NODE = ["node", "--test", "--test-reporter=spec"]


def main(arguments):
    # A test shows the portal in a frame of such a page.
    with running("browser", "--param", "PortalFrameAncestors=https://app.example.com") as stack_file:
        environment = os.environ | {"STACK_FILE": str(stack_file)}
        command = ["node", "speed.js"] if arguments == ["speed"] else [*NODE, *arguments]
        return subprocess.run(command, cwd=HERE, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
