"""Removes each clause of the conditions of writes in turn, and lists those that no test misses (`make mutations`).

    mutations.py [TEXT]    only the clauses whose name contains TEXT, such as "leads" or "Put contacts"

The tests of the store, the functions and the console run once to learn which clauses they reach (`SAFEGUARDS_SEEN`, see
tests/harness/src/safeguards.rs). Each clause is then removed from every write while the programs that reach it run again
(`REMOVED_SAFEGUARD`). Nothing is compiled again. A clause without which all tests pass is a survivor: it lacks a test, or
the service does not need it. docs/reliability.md explains the known ones.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).parents[1]
# The packages whose tests write to tables.
TESTED = re.compile(r"/(shared/(store|worker)|functions/[a-z-]+|tools/console)/Cargo\.toml$")


def main():
    text = sys.argv[1] if len(sys.argv) > 1 else ""
    programs = [Program(line) for line in compiled()]
    began = time.monotonic()
    for program in programs:
        program.learn()
    clauses = sorted({clause for program in programs for clause in program.seen if text in clause})
    print(f"{len(clauses)} clauses, {len(programs)} programs, {time.monotonic() - began:.0f} s for all tests once", flush=True)
    survivors = [clause for number, clause in enumerate(clauses, 1) if not is_missed(clause, programs, f"{number}/{len(clauses)}")]
    print(f"\n{len(clauses) - len(survivors)} of {len(clauses)} clauses are missed by a test. The others:")
    print("".join(f"  {clause}\n" for clause in survivors) or "  none")
    sys.exit(1 if survivors else 0)


def compiled():
    command = ["cargo", "test", "--workspace", "--locked", "--no-run", "--message-format=json"]
    lines = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    artifacts = [json.loads(line) for line in lines if '"compiler-artifact"' in line]
    tests = [one for one in artifacts if one["executable"] and one["profile"]["test"] and TESTED.search(one["manifest_path"])]
    return sorted(tests, key=lambda one: one["executable"])


class Program:
    """A test program, with the clauses that its tests reach."""

    def __init__(self, artifact):
        self.path = artifact["executable"]
        self.folder = pathlib.Path(artifact["manifest_path"]).parent
        self.name = f"{self.folder.name}:{artifact['target']['name']}"
        self.seen, self.seconds = set(), 0

    def learn(self):
        with tempfile.TemporaryDirectory() as folder:
            file, began = pathlib.Path(folder) / "seen", time.monotonic()
            status, printed = self.run(3_600, SAFEGUARDS_SEEN=str(file))
            if status != 0:
                sys.exit(f"{self.name} fails with all clauses in place:\n{printed[-3_000:]}")
            self.seconds = time.monotonic() - began
            self.seen = set(file.read_text().splitlines()) if file.exists() else set()

    def run(self, seconds, **variables):
        """The exit status, None after this time, and what the program prints."""
        try:
            ran = subprocess.run(
                [self.path, "--quiet"],
                cwd=self.folder,
                env=os.environ | variables,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=seconds,
            )
            return ran.returncode, ran.stdout
        except subprocess.TimeoutExpired:
            return None, ""


def is_missed(clause, programs, number):
    """Whether a test fails, or does not end, without the clause. The fastest programs run first."""
    reaching = sorted((program for program in programs if clause in program.seen), key=lambda program: program.seconds)
    for program in reaching:
        status, printed = program.run(60 + 10 * program.seconds, REMOVED_SAFEGUARD=clause)
        if status != 0:
            failed = re.search(r"^    (\S+)$", printed.split("\nfailures:\n")[-1], re.M)
            how = failed.group(1) if failed else "a test that does not end"
            print(f"{number} missed   {clause}  ({program.name} {how})", flush=True)
            return True
    print(f"{number} SURVIVES {clause}", flush=True)
    return False


if __name__ == "__main__":
    main()
