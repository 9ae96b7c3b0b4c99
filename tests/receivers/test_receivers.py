"""Runs the programs of docs/webhooks.md, in four languages, on the test vectors that the service's code generates; also the
Python library of Standard Webhooks, which is third-party code."""

import datetime
import functools
import json
import pathlib
import subprocess
import sys

import pytest
import standardwebhooks

HERE = pathlib.Path(__file__).parent
FILE = HERE / "vectors.json"
VECTORS = json.loads(FILE.read_text(encoding="utf-8"))
LANGUAGES = {
    "Python": [sys.executable, "drive.py"],
    "JavaScript": ["node", "drive.js"],
    "PHP": ["php", "drive.php"],
    "Ruby": ["ruby", "drive.rb"],
}

# The library parses numbers and base64 more leniently. It accepts these vectors, and they were signed.
LENIENT = {"a timestamp with a sign", "the signature with something behind it"}

each_vector = pytest.mark.parametrize("number", range(len(VECTORS)), ids=[vector["name"] for vector in VECTORS])


@functools.cache
def verdicts(language):
    """The verdicts of a language's program on each vector: one for the Standard Webhooks headers, one for the legacy one."""
    driven = subprocess.run([*LANGUAGES[language], FILE], cwd=HERE, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(driven.stdout)


@each_vector
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_program_of_the_page_accepts_exactly_the_genuine_requests(language, number):
    vector = VECTORS[number]
    assert len(verdicts(language)) == len(VECTORS)
    assert verdicts(language)[number] == [vector["standard"], vector["legacy"]]


@each_vector
def test_the_library_of_standard_webhooks_agrees(number, monkeypatch):
    vector = VECTORS[number]
    clock(monkeypatch, vector["now"])
    body = vector["body"].replace("{fill}", "x" * vector.get("fill", 0))
    taken = any(takes(secret, vector["headers"], body) for secret in vector["secrets"])
    assert taken == (vector["standard"] or vector["name"] in LENIENT)


def takes(secret, headers, body):
    # The library refuses in several ways. For example, it cannot split a signature without a version.
    try:
        standardwebhooks.Webhook(secret).verify(body, headers)
    except (standardwebhooks.webhooks.WebhookVerificationError, ValueError):
        return False
    return True


def clock(monkeypatch, seconds):
    class Clock(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return cls.fromtimestamp(seconds, tz)

    monkeypatch.setattr(standardwebhooks.webhooks, "datetime", Clock)


def test_the_vectors_contain_valid_and_invalid_requests_of_both_kinds():
    kinds = [(vector["standard"], vector["legacy"]) for vector in VECTORS]
    assert all(kinds.count(kind) >= 3 for kind in [(True, True), (True, False), (False, True), (False, False)])
    assert len({vector["name"] for vector in VECTORS}) == len(VECTORS)
