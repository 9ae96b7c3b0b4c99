"""Runs commands of the AWS command line in one process: the program itself takes a second to start.

Each line of standard input is the arguments of one command, as a JSON array. Each line of standard output is its result: `status`, `out` and `err`.
"""

import contextlib
import io
import json
import sys

from awscli.clidriver import create_clidriver


def main():
    driver = create_clidriver()
    for line in sys.stdin:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = driver.main(json.loads(line))
        print(json.dumps({"status": status, "out": out.getvalue(), "err": err.getvalue()}), flush=True)


if __name__ == "__main__":
    main()
