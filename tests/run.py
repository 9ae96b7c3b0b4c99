"""What `make check` and `make test` run, step by step: each named, timed and, at the end, counted.

    run.py check    format, lints, tests of the crates
    run.py test     everything: these, the whole stack, a browser, the API's contract, the dependencies, the template, SAM
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

# A test runner's last words -> how many passed.
COUNTS = [
    re.compile(r"Summary \[.*?\]\s+\d+ tests? run: (\d+) passed"),  # nextest
    re.compile(r"test result: ok\. (\d+) passed"),  # cargo test
    re.compile(r"^=*\s*(\d+) passed.* in [\d.]+s"),  # pytest
    re.compile(r"^ℹ pass (\d+)"),  # node
    re.compile(r"^\s+\d+ generated, (\d+) passed"),  # Schemathesis
]
COLOURS = re.compile(r"\x1b\[[0-9;]*m")

NEEDED = {
    "cargo": "install Rust with rustup (https://rustup.rs); rust-toolchain.toml names the version",
    "cc": "install a C compiler (Debian: apt-get install gcc libc6-dev)",
    "strip": "install binutils (Debian: apt-get install binutils)",
}


def tests_of_crates(*selection):
    if shutil.which("cargo-nextest"):
        return ["cargo", "nextest", "run", "--locked", "--no-fail-fast", *selection]
    return ["cargo", "test", "--locked", "--no-fail-fast", "--all-targets", *selection]


def pytest(folder):
    return [PYTHON, "-m", "pytest", "--quiet", "-p", "no:cacheprovider", f"tests/{folder}"]


FORMAT = ("format", ["cargo", "fmt", "--all", "--check"])
LINTS = ("lints", ["cargo", "clippy", "--workspace", "--all-targets", "--locked", "--", "--deny", "warnings"])
CRATES = ("tests of the crates", tests_of_crates("--workspace", "--exclude", "stack-tests"))
STEPS = {
    "check": [FORMAT, LINTS, CRATES],
    "test": [
        FORMAT,
        ("template", pytest("template")),
        ("openapi.yaml", pytest("contract")),
        ("dependencies", pytest("dependencies")),
        ("receivers", pytest("receivers")),
        LINTS,
        # Programs and tests in one go: the whole-stack tests run the programs, and apart each would have its
        # dependencies compiled with other features.
        ("build", ["cargo", "build", "--workspace", "--all-targets", "--locked"]),
        CRATES,
        ("tests of the whole stack", tests_of_crates("--package", "stack-tests")),
        ("browser", [sys.executable, "tests/browser/run.py"]),
        ("API contract (Schemathesis)", [PYTHON, "tests/contract/run.py"]),
        ("SAM: both processors, sam local", pytest("sam")),
    ],
}


def main():
    name = sys.argv[1] if len(sys.argv) == 2 else None
    if name not in STEPS:
        sys.exit(__doc__)
    missing = [f"{program} is missing: {advice}." for program, advice in NEEDED.items() if not shutil.which(program)]
    if missing:
        sys.exit("\n".join(missing))
    steps, started, passed = STEPS[name], time.monotonic(), 0
    lines = []
    for number, (title, command) in enumerate(steps, 1):
        print(f"\n=== {number}/{len(steps)} {title}", flush=True)
        begun = time.monotonic()
        status, count = run(command)
        lines.append(f"{title}: {count} passed, {spent(begun)}" if count else f"{title}: {spent(begun)}")
        print(f"--- {lines[-1]}", flush=True)
        if status != 0:
            sys.exit(f"\nFAILED in step {number} of {len(steps)}: {title} (after {spent(started)} in all)")
        passed += count
    print("\n" + "\n".join(f"  {line}" for line in lines))
    print(f"\nOK: {passed} tests passed in {spent(started)}")


def run(command):
    """Runs a step, shows what it prints and adds up the tests it counts."""
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    if sys.stdout.isatty():
        environment |= {"CARGO_TERM_COLOR": "always"}
    step = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    count = 0
    for line in step.stdout:
        print(line, end="", flush=True)
        plain = COLOURS.sub("", line)
        count += sum(int(found.group(1)) for pattern in COUNTS if (found := pattern.search(plain)))
    return step.wait(), count


def spent(since):
    minutes, seconds = divmod(round(time.monotonic() - since), 60)
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\ninterrupted")
