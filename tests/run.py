"""Runs the steps of `make check` and `make test`. It names and times each step, and counts the tests.

    run.py check    spelling, format, lints, tests of the crates
    run.py test     also the whole stack, a browser, the API's contract, the pages, the dependencies, the template
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).parents[1]
PYTHON = ROOT / ".venv" / "bin" / "python"

# The last lines of the test runners, with the number of passed tests.
COUNTS = [
    re.compile(r"Summary \[.*?\]\s+\d+ tests? run: (\d+) passed"),  # nextest
    re.compile(r"test result: ok\. (\d+) passed"),  # cargo test
    re.compile(r"^=*\s*(\d+) passed.* in [\d.]+s"),  # pytest
    re.compile(r"^ℹ pass (\d+)"),  # node
    re.compile(r"^\s+\d+ generated, (\d+) passed"),  # Schemathesis
]
COLOURS = re.compile(r"\x1b\[[0-9;]*m")

# The tests of the crates record their calls of DynamoDB here, for the step that holds them against AWS's rules.
CALLS = ROOT / "target" / "recorded-calls"

TYPOS = ROOT / ".venv" / "bin" / "typos"

# Clippy takes the place of the compiler for the packages of the workspace, so one build compiles and lints. `cargo clippy` would
# compile all dependencies a second time.
LINTED = {"RUSTC_WORKSPACE_WRAPPER": "clippy-driver"}
# What cargo prints after the warnings of a package, also if it compiled the package before.
WARNED = re.compile(r"^warning: .* generated \d+ warnings?")


def tests_of_crates(nextest_filter, *cargo_selection):
    """Every selection builds the whole workspace's features: with `--package`, cargo would compile the dependencies again
    with fewer (tests/dependencies/test_shared_builds.py)."""
    if shutil.which("cargo-nextest"):
        return ["cargo", "nextest", "run", "--locked", "--no-fail-fast", "--workspace", "-E", nextest_filter]
    return ["cargo", "test", "--locked", "--no-fail-fast", "--workspace", *cargo_selection]


def pytest(folder, *options):
    return [PYTHON, "-m", "pytest", "--quiet", "-p", "no:cacheprovider", *options, f"tests/{folder}"]


# For tests that share no stack.
ON_ALL_CORES = ("--numprocesses", "auto")


SPELLING = ("spelling", [TYPOS])
# The document of the portal is committed. `make check` works on machines without Node.
PORTAL = ("document of the portal", [sys.executable, "tests/portal.py"])
FORMAT = ("format", ["cargo", "fmt", "--all", "--check"])
# Programs too: the tests of the whole stack run them.
BUILD = ("build and lints", ["cargo", "build", "--workspace", "--all-targets", "--locked"])
CRATES = ("tests of the crates", tests_of_crates("not package(stack-tests)", "--exclude=stack-tests", "--all-targets"))
TESTS_OF_THE_STACK = sorted(path.stem for path in (ROOT / "tests" / "stack" / "tests").iterdir())
WHOLE_STACK = (
    "tests of the whole stack",
    tests_of_crates("package(stack-tests)", *(f"--test={name}" for name in TESTS_OF_THE_STACK)),
)
STEPS = {
    "check": [SPELLING, FORMAT, PORTAL, BUILD, CRATES],
    "test": [
        SPELLING,
        FORMAT,
        (PORTAL[0], [*PORTAL[1], "build"]),
        ("bare machine", pytest("machine")),
        ("template", pytest("template", *ON_ALL_CORES)),
        ("openapi.yaml", pytest("contract", *ON_ALL_CORES)),
        ("dependencies", pytest("dependencies", *ON_ALL_CORES)),
        ("receivers", pytest("receivers")),
        ("AWS's rules", pytest("wire")),
        BUILD,
        CRATES,
        ("AWS's rules on the calls of the crates", [PYTHON, "tests/wire/recorded.py", CALLS]),
        WHOLE_STACK,
        ("browser", [sys.executable, "tests/browser/run.py"]),
        ("API contract (Schemathesis)", [PYTHON, "tests/contract/run.py"]),
        ("smoke test", pytest("smoke")),
        ("pages", pytest("docs")),
    ],
}


def main():
    name = sys.argv[1] if len(sys.argv) == 2 else None
    if name not in STEPS:
        sys.exit(__doc__)
    steps, started, passed = STEPS[name], time.monotonic(), 0
    os.environ.update(LINTED)
    shutil.rmtree(CALLS, ignore_errors=True)
    if name == "test":
        CALLS.mkdir(parents=True)
        os.environ["RECORDED_CALLS"] = str(CALLS)
    lines = []
    for number, (title, command) in enumerate(steps, 1):
        print(f"\n=== {number}/{len(steps)} {title}", flush=True)
        begun = time.monotonic()
        status, count = run(command)
        lines.append(f"{title}: {count} passed, {spent(begun)}" if count else f"{title}: {spent(begun)}")
        print(f"--- {lines[-1]}", flush=True)
        if status != 0:
            sys.exit(f"\nFAILED in step {number} of {len(steps)}: {title} (after {spent(started)} in total)")
        passed += count
    print("\n" + "\n".join(f"  {line}" for line in lines))
    print(f"\nOK: {passed} tests passed in {spent(started)}")


def run(command):
    """Runs a step and prints its output. Returns its exit status and the number of passed tests. A warning is a failure."""
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    if sys.stdout.isatty():
        environment |= {"CARGO_TERM_COLOR": "always"}
    step = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    count, warned = 0, False
    for line in step.stdout:
        print(line, end="", flush=True)
        plain = COLOURS.sub("", line)
        count += sum(int(found.group(1)) for pattern in COUNTS if (found := pattern.search(plain)))
        warned = warned or WARNED.match(plain) is not None
    return step.wait() or int(warned), count


def spent(since):
    minutes, seconds = divmod(round(time.monotonic() - since), 60)
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\ninterrupted")
