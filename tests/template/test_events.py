"""events/ has at least one event for each route and trigger, and each event matches the template."""

import hashlib
import json
import re

import pytest

from expand import TEMPLATE, Stack, source
from invariants import RELAYED, ROUTES

EVENTS = {path.name: json.loads(path.read_text()) for path in sorted((TEMPLATE.parent / "events").glob("*.json"))}
REQUESTS = {name: event for name, event in EVENTS.items() if "httpMethod" in event}
RECORDS = [(name, record) for name, event in EVENTS.items() for record in event.get("Records", [])]


def test_every_route_has_an_event():
    shown = {(event["httpMethod"].lower(), event["resource"]) for event in REQUESTS.values()}
    assert shown == {route for routes in ROUTES.values() for route, function in routes.items() if function}


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


def test_the_relays_events_pass_its_filters_and_come_from_its_streams():
    tables = Stack(source()).of_type("AWS::DynamoDB::Table").values()
    views = {table["TableName"]: table["StreamSpecification"]["StreamViewType"] for table in tables if "StreamSpecification" in table}
    records = [record for _, record in RECORDS if record["eventSource"] == "aws:dynamodb"]
    shown = set()
    for record in records:
        change = record["dynamodb"]
        table = re.search(r":table/(messaging-[a-z]+)/stream/", record["eventSourceARN"]).group(1)
        assert change["StreamViewType"] == views[table]
        image = change.get("NewImage") or change["OldImage"]
        assert change["Keys"] == {key: image[key] for key in ("pk", "sk")}
        assert any(passes(record, pattern) for pattern in RELAYED[table.removeprefix("messaging-")]), record
        images = {"INSERT": {"NewImage"}, "MODIFY": {"NewImage", "OldImage"}, "REMOVE": {"OldImage"}}
        assert {"NewImage", "OldImage"} & set(change) == images[record["eventName"]]
        shown.add((table, record["eventName"], change["Keys"]["sk"]["S"][:1]))
    assert shown == {
        ("messaging-contacts", "INSERT", "C"),
        ("messaging-contacts", "MODIFY", "C"),
        ("messaging-conversations", "INSERT", "C"),
        ("messaging-conversations", "MODIFY", "C"),
        ("messaging-messages", "INSERT", "M"),
        ("messaging-messages", "MODIFY", "M"),
        ("messaging-messages", "INSERT", "P"),
        ("messaging-media", "REMOVE", "M"),
        ("messaging-leads", "INSERT", "L"),
        ("messaging-leads", "MODIFY", "L"),
    }


def passes(record, pattern):
    """Applies a Lambda event filter. It supports what the template uses: exact values and prefixes."""
    for key, wanted in pattern.items():
        if isinstance(wanted, dict):
            if not passes(record.get(key, {}), wanted):
                return False
        elif not any(
            record.get(key, "").startswith(value["prefix"]) if isinstance(value, dict) else record.get(key) == value
            for value in wanted
        ):
            return False
    return True


def test_the_queues_events_name_a_lane_and_nothing_else():
    bodies, uploads, pieces = {}, [], []
    for _, record in RECORDS:
        if record["eventSource"] != "aws:sqs":
            continue
        body = json.loads(record["body"])
        assert record["md5OfBody"] == hashlib.md5(record["body"].encode()).hexdigest()
        queue = record["eventSourceARN"].split(":")[-1]
        if queue == "messaging-uploads":
            uploads += [(one["eventName"], one["s3"]["object"]["size"]) for one in body["Records"]]
        elif queue == "messaging-inbox":
            pieces.append(body)
        else:
            bodies[queue] = (body.pop("lane"), set(body))
    assert bodies == {
        "messaging-webhook-deliveries": ("webhook", {"workspaceId", "endpointId", "slot"}),
        "messaging-message-sends": ("conversation", {"workspaceId", "conversationId"}),
        "messaging-lead-sends": ("lead", {"workspaceId", "leadId"}),
        "messaging-person-jobs": ("person", {"workspaceId", "jobId"}),
    }
    # S3 sends these itself. The file is one byte larger than an image may be.
    assert uploads == [("ObjectCreated:Put", 16_777_217)]
    # A piece of the webhook that provider-events-receive.json holds.
    (entry,) = json.loads(EVENTS["provider-events-receive.json"]["body"])["entry"]
    (change,) = entry["changes"]
    assert [(piece["account"], {"field": piece["field"], "value": piece["value"]}) for piece in pieces] == [(entry["id"], change)]
