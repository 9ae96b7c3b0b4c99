"""The recorded calls of the tests in process: a fault, a missing table and an empty folder fail the step."""

import json
import pathlib
import subprocess
import sys

from cases import CASES, TABLE

PROGRAM = pathlib.Path(__file__).parent / "recorded.py"


def judged(folder, *calls):
    lines = [{"target": "DynamoDB_20120810.CreateTable", "parameters": TABLE}] if calls else []
    lines += [{"target": call.headers["x-amz-target"], "parameters": json.loads(call.body)} for call in calls]
    # In two files, as two processes write them, and each call twice.
    for number in range(2 if lines else 0):
        (folder / f"{number}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in reversed(lines)))
    return subprocess.run([sys.executable, PROGRAM, folder], capture_output=True, text=True)


def test_a_fault_fails_the_step_and_its_twin_does_not(tmp_path):
    (case,) = [case for case in CASES if case.name == "reserved_words-0"]
    good = judged(tmp_path, case.correct)
    assert (good.returncode, good.stderr) == (0, "")
    assert good.stdout == "2 different calls: 1 CreateTable, 1 Query\n"
    bad = judged(tmp_path, case.correct, case.faulty)
    assert bad.returncode == 1
    assert bad.stderr == "a-test-in-process: dynamodb Query: FilterExpression uses the reserved word state (reserved_words)\n"


def test_a_folder_without_calls_fails_the_step(tmp_path):
    nothing = judged(tmp_path)
    assert nothing.returncode == 1
    assert nothing.stderr == "The tests recorded no call.\n"
