"""events/ holds one event, or more, of each route and trigger, and each fits the template."""

import json
import re

import pytest

from expand import TEMPLATE, Stack, source
from invariants import ROUTES

EVENTS = {path.name: json.loads(path.read_text()) for path in sorted((TEMPLATE.parent / "events").glob("*.json"))}
REQUESTS = {name: event for name, event in EVENTS.items() if "httpMethod" in event}
RECORDS = [(name, record) for name, event in EVENTS.items() for record in event.get("Records", [])]


def test_every_route_has_an_event():
    shown = {(event["httpMethod"].lower(), event["resource"]) for event in REQUESTS.values()}
    assert shown == set(ROUTES["IntegrationsApi"])


def test_every_trigger_has_an_event():
    shown = {record["eventSource"] for _, record in RECORDS} | {event["source"] for event in EVENTS.values() if "source" in event}
    assert shown == {"aws:dynamodb", "aws:sqs", "aws.events"}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_agrees_with_itself(name):
    event = REQUESTS[name]
    path = re.sub(r"\{(\w+)}", lambda part: event["pathParameters"][part.group(1)], event["resource"])
    context = event["requestContext"]
    assert (event["path"], context["path"]) == (path, f"/live{path}")
    assert (context["httpMethod"], context["resourcePath"]) == (event["httpMethod"], event["resource"])
    assert event["multiValueHeaders"] == {header: [value] for header, value in event["headers"].items()}
    query = event["queryStringParameters"]
    assert event["multiValueQueryStringParameters"] == (query and {key: [value] for key, value in query.items()})
    if event["body"] is not None:
        json.loads(event["body"])


def test_the_relays_events_pass_its_filter_and_come_from_its_stream():
    stack = Stack(source())
    view = stack.resources["ContactsTable"]["Properties"]["StreamSpecification"]["StreamViewType"]
    records = [record for _, record in RECORDS if record["eventSource"] == "aws:dynamodb"]
    assert {record["eventName"] for record in records} == {"INSERT", "MODIFY"}
    for record in records:
        change = record["dynamodb"]
        assert ":table/messaging-contacts/stream/" in record["eventSourceARN"]
        assert change["StreamViewType"] == view
        assert change["Keys"] == {key: change["NewImage"][key] for key in ("pk", "sk")}
        assert change["Keys"]["sk"] == {"S": "C"}
        assert ("OldImage" in change) == (record["eventName"] == "MODIFY")


def test_the_queues_event_names_a_delivery():
    (record,) = [record for _, record in RECORDS if record["eventSource"] == "aws:sqs"]
    assert set(json.loads(record["body"])) == {"workspaceId", "deliveryId"}
    assert record["eventSourceARN"].endswith(":messaging-webhook-deliveries")
