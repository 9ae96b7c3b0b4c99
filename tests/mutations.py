"""Removes each clause of the conditions of writes in turn, and lists those that no test misses (`make mutations`).

    mutations.py [TEXT]    only the clauses whose name contains TEXT, such as "leads" or "Put contacts"

Each test of the packages below runs once, in a process of its own, to learn which clauses it reaches (`SAFEGUARDS_SEEN`, see
tests/harness/src/safeguards.rs). Each clause is then removed from every write (`REMOVED_SAFEGUARD`) while the tests that reach it
run again until one fails, first those that are fast and reach few clauses. Two processes run at a time, and nothing is compiled again.

A clause without which all tests pass is a survivor: it lacks a test, or the service does not need it. The table in
docs/reliability.md says why a survivor stays. The command fails if the table does not have exactly the survivors.
"""

import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).parents[1]
# The packages whose tests write to tables.
TESTED = re.compile(r"/(shared/(store|worker)|functions/[a-z-]+|tools/console)/Cargo\.toml$")
# A row of the table of survivors.
EXPLAINED = re.compile(r"^\| `((?:Put|Update|Delete|ConditionCheck) .*?)` \|", re.M)
AT_A_TIME = 2


def main():
    text = sys.argv[1] if len(sys.argv) > 1 else ""
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        tests = list(pool.map(Test.learn, (test for program in compiled() for test in tests_of(program))))
        clauses = sorted({clause for test in tests for clause in test.seen if text in clause})
        print(f"{len(clauses)} clauses, {len(tests)} tests, {time.monotonic() - began:.0f} s to run each once", flush=True)
        missed = list(pool.map(lambda clause: is_missed(clause, tests), clauses))
    survivors = {clause for clause, is_found in zip(clauses, missed) if not is_found}
    _, page = (ROOT / "docs/reliability.md").read_text().split("\n## Mutations\n")
    explained = {clause for clause in EXPLAINED.findall(page) if text in clause}
    print(f"\n{len(clauses)} clauses: tests miss {len(clauses) - len(survivors)}, {len(survivors)} survive ({time.monotonic() - began:.0f} s)")
    for what, wrong in (
        ("Survivors without a reason in docs/reliability.md:", survivors - explained),
        ("Explained in docs/reliability.md as survivors, but missed or never reached:", explained - survivors),
    ):
        if wrong:
            print("\n".join([what, *(f"  {clause}" for clause in sorted(wrong))]))
    sys.exit(survivors != explained)


def compiled():
    command = ["cargo", "test", "--workspace", "--locked", "--no-run", "--message-format=json"]
    lines = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    artifacts = [json.loads(line) for line in lines if '"compiler-artifact"' in line]
    return [one for one in artifacts if one["executable"] and one["profile"]["test"] and TESTED.search(one["manifest_path"])]


def tests_of(artifact):
    path, folder = artifact["executable"], pathlib.Path(artifact["manifest_path"]).parent
    listed = subprocess.run([path, "--list", "--format", "terse"], cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout
    names = re.findall(r"^(.*): test$", listed, re.M)
    return [Test(path, folder, f"{folder.name}:{artifact['target']['name']}", name) for name in names]


@dataclasses.dataclass
class Test:
    """A test, with the clauses that it reaches and the seconds that it takes."""

    path: str
    folder: pathlib.Path
    program: str
    name: str
    seen: frozenset = frozenset()
    seconds: float = 0

    def learn(self):
        with tempfile.TemporaryDirectory() as folder:
            file, began = pathlib.Path(folder) / "seen", time.monotonic()
            is_passed, printed = self.run(1_800, SAFEGUARDS_SEEN=str(file))
            if not is_passed:
                sys.exit(f"{self.program} {self.name} fails with all clauses in place:\n{printed[-3_000:]}")
            self.seconds = time.monotonic() - began
            self.seen = frozenset(file.read_text().splitlines()) if file.exists() else frozenset()
        return self

    def run(self, seconds, **variables):
        """Whether the test passes within this time, and what it prints."""
        process = subprocess.Popen(
            [self.path, "--exact", self.name],
            cwd=self.folder,
            env=os.environ | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            printed, _ = process.communicate(timeout=seconds)
            return process.returncode == 0, printed
        except subprocess.TimeoutExpired:
            # The test may have started processes.
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return False, f"no end within {seconds:.0f} seconds"


def is_missed(clause, tests):
    """Whether a test fails, or does not end, without the clause."""
    # A test that reaches few clauses is more likely to be about this one.
    reaching = sorted((test for test in tests if clause in test.seen), key=lambda test: test.seconds * len(test.seen))
    for number, test in enumerate(reaching, 1):
        is_passed, _ = test.run(30 + 10 * test.seconds, REMOVED_SAFEGUARD=clause)
        if not is_passed:
            print(f"missed   {clause}  ({number} of {len(reaching)}: {test.program} {test.name})", flush=True)
            return True
    print(f"SURVIVES {clause}  ({len(reaching)} tests)", flush=True)
    return False


if __name__ == "__main__":
    main()
