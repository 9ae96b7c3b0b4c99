"""Holds the calls of the tests in process against AWS's rules. Fails if AWS would refuse a call, or if there is none.

    recorded.py FOLDER

The tests record their calls of DynamoDB if the variable RECORDED_CALLS names the folder (`tests/harness/src/recorded.rs`).
What the embedded database answers, the calls that it refuses as invalid, and the calls of S3 and SQS, are not recorded.
"""

import json
import pathlib
import sys

import rules
from exchange import Exchange
from judge import Judge
from rules import answers, shapes
from tables import Tables

OF_REQUESTS = [rule for rule in rules.ALL if rule not in (*answers.RULES, shapes.response_shape)]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    judge = Judge(Tables(), OF_REQUESTS)
    found = sorted({str(finding) for call in calls(sys.argv[1]) for finding in judge.findings(call)})
    counts = judge.summary()["services"].get("dynamodb", {})
    print(f"{sum(counts.values())} different calls: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    if found or not counts:
        sys.exit("\n".join(found) or "The tests recorded no call.")


def calls(folder):
    """The calls in the files, tables first, each once. Most tests repeat the calls of others."""
    lines = set()
    for file in pathlib.Path(folder).glob("*.jsonl"):
        with open(file, encoding="utf-8") as recorded:
            lines.update(recorded)
    for line in sorted(lines, key=lambda line: ("CreateTable" not in line, line)):
        call = json.loads(line)
        if call["target"].endswith(".GetShardIterator"):
            # The embedded database gives shards shorter names than AWS does.
            continue
        headers = {"x-amz-target": call["target"], "authorization": "", "user-agent": "app/a-test-in-process"}
        yield Exchange("POST", "/", headers, json.dumps(call["parameters"]).encode(), 200, {}, b"{}")


if __name__ == "__main__":
    main()
