"""Prints the verdict of verify.py on each vector in the given file."""

import json
import sys

from verify import verify, verify_legacy

verdicts = []
for vector in json.load(open(sys.argv[1], encoding="utf-8")):
    headers, secrets = vector["headers"], vector["secrets"]
    body = vector["body"].replace("{fill}", "x" * vector.get("fill", 0)).encode()
    verdicts.append([verify(headers, body, secrets, vector["now"]), verify_legacy(headers, body, secrets)])
print(json.dumps(verdicts))
