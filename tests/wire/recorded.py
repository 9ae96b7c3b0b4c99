"""Holds the calls of the tests in process against AWS's rules. Fails if AWS would refuse a call, or if there is none.

    recorded.py FOLDER

The tests record their calls of DynamoDB if the variable RECORDED_CALLS names the folder (`tests/harness/src/recorded.rs`).
What the embedded database answers, the calls that it refuses as invalid, and the calls of S3 and SQS, are not recorded.
"""

import collections
import concurrent.futures
import json
import os
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
    tables, others = calls(sys.argv[1])
    cores = os.cpu_count() or 1
    with concurrent.futures.ProcessPoolExecutor(cores) as processes:
        shares = [tables + others[number::cores] for number in range(cores)]
        found = sorted(set().union(*processes.map(findings, shares)))
    counts = collections.Counter(json.loads(line)["target"].split(".")[-1] for line in tables + others)
    print(f"{counts.total()} different calls: " + ", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
    if found or not counts:
        sys.exit("\n".join(found) or "The tests recorded no call.")


def calls(folder):
    """The calls in the files as lines, each once, because most tests repeat the calls of others: those that create tables, and the
    others."""
    lines = set()
    for file in pathlib.Path(folder).glob("*.jsonl"):
        with open(file, encoding="utf-8") as recorded:
            lines.update(recorded)
    tables = sorted(line for line in lines if "CreateTable" in line)
    # The embedded database gives shards shorter names than AWS does.
    return tables, sorted(line for line in lines if "CreateTable" not in line and ".GetShardIterator" not in line)


def findings(lines):
    judge = Judge(Tables(), OF_REQUESTS)
    return {str(finding) for line in lines for finding in judge.findings(exchange(json.loads(line)))}


def exchange(call):
    headers = {"x-amz-target": call["target"], "authorization": "", "user-agent": "app/a-test-in-process"}
    return Exchange("POST", "/", headers, json.dumps(call["parameters"]).encode(), 200, {}, b"{}")


if __name__ == "__main__":
    main()
