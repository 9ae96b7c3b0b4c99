"""Each rule finds each of its faulty requests, and nothing in the correct twin of one."""

import pytest

import rules
from cases import CASES, PAIRS, TABLE, s3
from exchange import Call, Exchange
from judge import Judge
from tables import Tables

# `known_operation` is a part of the judge: what it cannot read, no rule sees.
NAMES = [*(rule.__name__ for rule in rules.ALL), "known_operation"]


def judge(without=None):
    described = [TABLE | {"TableName": name} for name in ("test-things", "test-others")]
    return Judge(Tables(lambda: described), [rule for rule in rules.ALL if rule.__name__ != without])


HEADERS = {"user-agent": "aws-sdk-rust/1 app/a-function", "authorization": "AWS4-HMAC-SHA256 Credential=a"}


def exchange(request):
    headers = HEADERS | request.headers
    return Exchange(request.method, request.target, headers, request.body, request.status, request.answer_headers, request.answer)


def test_each_rule_has_a_name_of_its_own_and_a_case():
    assert len(set(NAMES)) == len(NAMES)
    assert sorted(NAMES) == sorted(PAIRS)
    assert all(PAIRS.values())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_fault_is_found_by_its_rule_only(case):
    found = judge().findings(exchange(case.faulty))
    assert {one.rule for one in found} == {case.rule}
    assert all(one.what for one in found)


@pytest.mark.parametrize("case", [case for case in CASES if case.rule != "known_operation"], ids=lambda case: case.name)
def test_a_fault_is_not_found_without_its_rule(case):
    assert case.rule not in {one.rule for one in judge(without=case.rule).findings(exchange(case.faulty))}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_nothing_is_found_in_the_correct_twin(case):
    assert judge().findings(exchange(case.correct)) == []


def test_a_finding_names_the_caller():
    (found,) = judge().findings(exchange(CASES[-1].faulty))
    assert found.caller == "a-function"
    assert str(found).startswith("a-function: s3 ListObjectsV2: the response cannot be read")


def test_a_clients_request_that_was_refused_is_no_fault_of_the_service():
    (case,) = [case for case in CASES if case.rule == "presigned_life"]
    for status, wanted in ((200, ["a client of the service"]), (403, [])):
        found = judge().findings(Exchange("GET", case.faulty.target, {}, b"", status, case.faulty.answer_headers, b""))
        assert [one.caller for one in found] == wanted


def test_a_rule_that_fails_is_a_finding():
    def broken(_call, _tables):
        raise KeyError("x")

    (found,) = Judge(Tables(), [broken]).findings(exchange(CASES[0].correct))
    assert (found.rule, found.what) == ("broken", "the rule failed: KeyError('x')")


def test_the_summary_counts_calls_by_service_operation_and_caller():
    one = judge()
    for _ in range(2):
        one.findings(exchange(CASES[0].correct))
    assert one.summary() == {"services": {"dynamodb": {"GetItem": 2}}, "callers": {"dynamodb": {"a-function": 2}}}
    assert judge().summary() == {"services": {}, "callers": {}}


@pytest.mark.parametrize(
    ("method", "target", "operation"),
    [
        ("GET", "/", "ListBuckets"),
        ("GET", "/test-media?list-type=2&prefix=a", "ListObjectsV2"),
        ("GET", "/test-media/?prefix=a", "ListObjects"),
        ("HEAD", "/test-media", "HeadBucket"),
        ("GET", "/test-media/a/b?x-id=GetObject", "GetObject"),
        ("HEAD", "/test-media/a%20b", "HeadObject"),
        ("PUT", "/test-media/a?x-id=PutObject", "PutObject"),
        ("PUT", "/test-media/a?partNumber=1&uploadId=x", "UploadPart"),
        ("DELETE", "/test-media/a", "DeleteObject"),
        ("POST", "/test-media?delete", "DeleteObjects"),
    ],
)
def test_an_operation_of_s3_is_known_by_method_path_and_query(method, target, operation):
    found = Call(exchange(s3(method, target)))
    assert found.operation == operation
    assert (found.parameters.get("Key") == "a b") == ("%20" in target)
