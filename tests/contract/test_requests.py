"""Compares openapi.yaml with a running stack, whose refusals name the parameters, fields, words and limits that it reads."""

import json
import os
import urllib.parse

import pytest
import stack
from document import body, deref, fields, items, operations, required

WORKSPACE = stack.STACK["workspaces"][0]["workspaceId"]
OPERATIONS = [
    pytest.param(path, method, operation, parameters, id=operation["operationId"])
    for path, method, operation, parameters in operations()
    # The key of a program has no session to end.
    if path.startswith("/service/") and operation["operationId"] != "endSession"
]
WITH_BODIES = [found for found in OPERATIONS if body(found.values[2])]


def ask(path, method, query="", sent=None):
    """The status and the JSON of a response."""
    status, text = stack.ask(WORKSPACE, os.environ["CONTRACT_API_KEY"], path + query, method, sent)
    return status, json.loads(text)


def failures(path, method, query="", sent=None):
    """The failures in a validation error, by location."""
    status, answer = ask(path, method, query, sent)
    assert (status, answer["code"]) == (422, "SERVICE_CORE_0422"), answer
    return {tuple(failure["loc"]): failure for failure in answer["detail"]}


@pytest.mark.parametrize("path, method, operation, parameters", OPERATIONS)
def test_an_endpoint_has_the_parameters_that_are_described(path, method, operation, parameters):
    sent = {} if method in ("post", "patch", "put") else None
    refused = failures(path, method, "?nothing=1", sent)
    described = {parameter["name"] for parameter in parameters if parameter["in"] == "query"}
    assert set(refused["query", "nothing"]["ctx"]["allowed"]) == described


@pytest.mark.parametrize("path, method, operation, parameters", OPERATIONS)
def test_words_and_limits_of_parameters_are_those_described(path, method, operation, parameters):
    sent = {} if method in ("post", "patch", "put") else None
    for parameter in parameters:
        schema = deref(parameter["schema"])
        if parameter["in"] != "query":
            continue
        place = ("query", parameter["name"])

        def refusal(value):
            return failures(path, method, "?" + urllib.parse.urlencode({parameter["name"]: value}), sent)[place]

        if "enum" in schema:
            assert refusal("NONE OF THEM")["ctx"]["expected"] == schema["enum"], place
        if "maximum" in schema:
            assert refusal(schema["maximum"] + 1)["ctx"] == {"le": schema["maximum"]}, place
            assert refusal(schema["minimum"] - 1)["ctx"] == {"ge": schema["minimum"]}, place
        if schema.get("type") == "boolean":
            assert refusal("maybe")["type"] == "bool_parsing", place


def spoiled(schema):
    """A value with the right structure whose leaves all have a wrong type, and the locations of these leaves. An array has
    one item."""
    if properties := fields(schema):
        parts = {name: spoiled(field) for name, field in properties.items()}
        value = {name: part for name, (part, _) in parts.items()}
        return value, {(name, *place) for name, (_, places) in parts.items() for place in places}
    if inner := items(schema):
        value, places = spoiled(inner)
        return [value], {("0", *place) for place in places}
    if "additionalProperties" in deref(schema):
        return {"x": {}}, {("x",)}
    return {"wrong": True}, {()}


@pytest.mark.parametrize("path, method, operation, parameters", WITH_BODIES)
def test_every_field_that_is_described_is_read(path, method, operation, parameters):
    value, places = spoiled(body(operation))
    expected = {("body", *place) for place in places}
    if operation["operationId"] == "createMessage":
        # A template goes alone, so beside the other contents of a message it is refused as a whole too.
        expected.add(("body", "template"))
    if operation["operationId"] == "retryLeads":
        # A cursor belongs to the filters, which are wrong here.
        expected.discard(("body", "cursor"))
    assert set(failures(path, method, sent=value)) == expected


@pytest.mark.parametrize("path, method, operation, parameters", WITH_BODIES)
def test_every_required_field_is_reported_as_missing(path, method, operation, parameters):
    schema = body(operation)
    if inner := items(schema):
        missed = failures(path, method, sent=[{}])
        places = {("body", "0", name) for name in required(inner)}
    elif needed := required(schema):
        missed = failures(path, method, sent={})
        places = {("body", name) for name in needed}
    else:
        # No field is required, so the stack looks for the entity and does not find it.
        # A session and the settings of lead capture need no field and no entity.
        without_entity = {"startSession": 201, "updateLeadCapture": 200}
        assert ask(path, method, sent={})[0] == without_entity.get(operation["operationId"], 404)
        return
    assert {place for place, failure in missed.items() if failure["type"] == "missing"} == places
