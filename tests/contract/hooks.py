"""Tells Schemathesis what it cannot know of this API: which ids exist, and what the API's own responses promise.

The environment names the stack's file and the objects that run.py created for the run.
"""

import datetime
import json
import os
import re
import urllib.request
import uuid

import schemathesis
from schemathesis.core import NotSet

STACK = json.loads(open(os.environ["STACK_FILE"], encoding="utf-8").read())
WORKSPACE = STACK["workspaces"][0]
MADE = json.loads(os.environ["CONTRACT_MADE"])


def settings_of_capture():
    url = f"{STACK['baseUrl']}/service/api/v1/workspaces/{WORKSPACE['workspaceId']}/settings/capture"
    return json.load(urllib.request.urlopen(urllib.request.Request(url, headers={"x-api-key": os.environ["CONTRACT_API_KEY"]})))


# The clients rotated the key of the demo.
CAPTURE = settings_of_capture()
# Characters that no text may contain.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
NOT_HTTP = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)


def attribute(category):
    return next(found for found in WORKSPACE["attributes"] if found["category"] == category and not found["archived"])


def template(parameters):
    return next(found for found in WORKSPACE["templates"] if found["approved"] and found["callerParameters"] == parameters)


# Ids in the examples of openapi.yaml -> ids in the stack, because the examples must succeed.
OF_EXAMPLES = {
    "3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90": WORKSPACE["workspaceId"],
    "0d5fb9d1-2f0e-4f52-9d57-0c1c5f8f6f10": MADE["conversationId"],
    "5a7d9f0e-41b2-4b3f-9d0e-8c6c7f1e2d3c": MADE["messageId"],
    "9c1b1f0a-0d5e-4f43-8a55-6c2c1f1f4b77": MADE["mediaId"],
    "2b6f0c4e-8d1a-5e37-9c5b-7a1d3f5e9b0c": MADE["erasureId"],
    "6e1c9f3a-4b7d-5a20-8c6e-0f2b4d6a8c1e": MADE["erasureId"],
    "5d7f9b1c-3e5a-4c7d-8f9b-1d3e5f7a9c2b": MADE["secondContactId"],
    "7d3f9b1c-5e2a-4d6f-8b0c-1e3a5c7d9f2b": MADE["keyId"],
    "5d7f9b1c-8a2c-4e6f-9d0b-1e3a5c7d9f2b": MADE["sessionId"],
    "4c8e0a2c-6f1b-4d3e-8a5c-7e9f1b3d5f70": MADE["endpointId"],
    "d22926c3-d7a2-56b2-b2ff-aab1e43fa2cd": MADE["eventId"],
    "d22926c3-d7a2-56b2-b2ff-aab1e43fa2cd.4c8e0a2c-6f1b-4d3e-8a5c-7e9f1b3d5f70": MADE["deliveryId"],
    "8f2b6d0a-4c1e-5a79-93b5-d7e9f1a3c5b7": MADE["jobId"],
    "5e7a9c1d-3f5b-4d7e-9a1c-3e5f7b9d1a2c": MADE["requestId"],
    "0f1e2d3c4b5a6978.3b7c1d9e5f2a8064c7e1b3d5f7092a4c6e8091b3d5f70a2c4e6881a3c5d7f912": MADE["optOutId"],
    "a18eabcd-ae14-4325-9568-1c361b76a862": WORKSPACE["contacts"][0]["id"],
    "2f24fcc0-e1da-40d4-a496-7dcd00f4546d": WORKSPACE["users"][0]["id"],
    "ada.okafor@example.com": WORKSPACE["users"][0]["email"],
    "bram.visser@example.com": WORKSPACE["users"][1]["email"],
    "fe11e2ad-b5fe-4e2e-a27b-5e386b841374": WORKSPACE["teamId"],
    "d58f0aef-7c7c-4dc5-9f60-6ba3f8ea9479": WORKSPACE["brands"][0]["brandId"],
    "6a2d6111-2c1d-4b20-bd86-57b6194c8d0b": template(["booking"])["templateId"],
    "8d2e6a4c-1f7b-4c93-a5d0-3b9e7f1c5a28": template([])["templateId"],
    "711f90e5-3baa-43bc-a891-271ec7772b40": attribute("OPEN")["id"],
    "1a6d1c0e-5a41-4a39-8f3e-5b1d5f0f7a55": attribute("CLOSED")["id"],
    "5b1f7d52-93cf-4a5d-8d5d-1d3f5a7e9b11": attribute("CLOSED")["values"][0]["id"],
    "lck_xafPsoYw0V1s2O7SQsm7paFZ": CAPTURE["captureKey"],
    "https://www.example.com": CAPTURE["origins"][0],
}

# Field -> existing values for it.
REAL = {
    "workspaceId": [WORKSPACE["workspaceId"]],
    "conversationId": [MADE["conversationId"]],
    "messageId": [MADE["messageId"]],
    "mediaId": [MADE["mediaId"]],
    "erasureId": [MADE["erasureId"]],
    "contactId": [contact["id"] for contact in WORKSPACE["contacts"][:3]],
    "keyId": [MADE["keyId"]],
    "sessionId": [MADE["sessionId"]],
    "endpointId": [MADE["endpointId"]],
    "eventId": [MADE["eventId"]],
    "jobId": [MADE["jobId"]],
    "requestId": [MADE["requestId"]],
    "optOutId": [MADE["optOutId"]],
    "userId": [user["id"] for user in WORKSPACE["users"]],
    "teamId": [WORKSPACE["teamId"]],
    "templateId": [template([])["templateId"], template(["booking"])["templateId"]],
    "attributeId": [found["id"] for found in WORKSPACE["attributes"]],
    "valueId": [value["id"] for value in attribute("CLOSED")["values"]],
    "customAttributeId": [found["id"] for found in WORKSPACE["attributes"]],
    "closedCustomAttributeIds": [value["id"] for value in attribute("CLOSED")["values"]],
    "mediaIds": [MADE["mediaId"]],
    "identifier": [contact["id"] for contact in WORKSPACE["contacts"][:3]],
}
THERE = {*OF_EXAMPLES.values(), *(value for values in REAL.values() for value in values)}


@schemathesis.hook
def before_call(context, case, kwargs):
    """Replaces most well-formed ids by existing ones. Ill-formed values stay, and so does every third id."""
    for parameters in (case.path_parameters, case.query, case.headers):
        for name, value in list((parameters or {}).items()):
            parameters[name] = real(name, value)
    # A control character in a header is not valid HTTP (RFC 9110), and a gateway refuses it. The emulator accepts it, and
    # then the function's library cannot read the event. So another invalid character replaces it.
    for name, value in list((case.headers or {}).items()):
        if isinstance(value, str):
            case.headers[name] = NOT_HTTP.sub("\xff", value)
    path = case.path_parameters or {}
    # A chain can take an id from an item of a list in which it is null, and would then send the text "None".
    for name in [name for name, value in path.items() if value is None]:
        path[name] = REAL[name][0]
    # With another workspace every response is 403.
    if is_uuid(path.get("workspaceId")):
        path["workspaceId"] = WORKSPACE["workspaceId"]
    # Only the spare key ends: without the key of this run every response would be 403.
    if case.method.upper() in ("DELETE", "PATCH") and is_uuid(path.get("keyId")):
        path["keyId"] = MADE["keyId"]
    # Schemathesis takes the id of a job in a response for that of the endpoint. Only ids of jobs have the version 5.
    if is_uuid(path.get("endpointId")) and uuid.UUID(path["endpointId"]).version == 5:
        path["endpointId"] = MADE["endpointId"]
    # Other jobs may be done, and then cannot be cancelled.
    if case.operation.label.endswith("/cancel") and is_uuid(path.get("jobId")):
        path["jobId"] = MADE["jobId"]
    # Only spare endpoints are deleted and disabled: other requests need one that is enabled.
    if is_uuid(path.get("endpointId")):
        verbs = {"DELETE": "deletedEndpointId", "POST": "disabledEndpointId"}
        if case.method.upper() == "DELETE" or case.operation.label.endswith("/disable"):
            path["endpointId"] = MADE[verbs.get(case.method.upper(), "disabledEndpointId")]
    # Only spare users and teams are changed and deleted: other requests need active users and a team with members.
    if case.method.upper() == "PATCH" and is_uuid(path.get("userId")):
        path["userId"] = MADE["spareUserId"]
    if case.method.upper() in ("DELETE", "PATCH") and is_uuid(path.get("teamId")):
        path["teamId"] = MADE["deletedTeamId" if case.method.upper() == "DELETE" else "spareTeamId"]
    # Only a spare attribute is changed: other requests need attributes that are active, and their values.
    if case.method.upper() in ("PATCH", "POST") and is_uuid(path.get("attributeId")):
        path["attributeId"] = MADE["spareAttributeId"]
        if is_uuid(path.get("valueId")):
            path["valueId"] = MADE["spareValueId"]
    # An erasure would take a contact that other requests need.
    if case.operation.label.endswith("/erasure") and erases(case.body):
        case.body, case.media_type = {"dryRun": True}, "application/json"
    # A merge would take a contact that other requests need: only the one that was made for it is merged.
    if case.operation.label.endswith("/merge") and isinstance(case.body, dict) and is_uuid(case.body.get("contactId")):
        case.body = case.body | {"contactId": MADE["secondContactId"]}
    if isinstance(case.body, dict | list):
        case.body = real("body", case.body)
        # Each body has its own idempotency key.
        if (case.headers or {}).get("Idempotency-Key") == "order-4711":
            case.headers["Idempotency-Key"] = f"order-{uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(case.body))}"
        if case.operation.label.endswith("/jobs") and isinstance(case.body, dict):
            case.body = recent(case.body)
        # A change that the schema allows sends what is there already: other requests send leads.
        if case.operation.label.endswith("/capture") and isinstance(case.body, dict) and case.meta and case.meta.generation.mode.is_positive:
            case.body = {name: OPEN[name] for name in case.body}
        if case.operation.label.endswith("campaign-leads"):
            case.body = lead(case.body)
        if case.operation.label.endswith("/messages") and isinstance(case.body, dict):
            case.body = with_values(case.body)
        if case.operation.label.endswith("/files") and isinstance(case.body, list):
            case.body = [file(item) for item in case.body]


@schemathesis.hook
def after_call(context, case, response):
    """Later leads need the new key."""
    if case.operation.label.endswith("/rotate-key") and response.status_code == 200:
        new = response.json()["captureKey"]
        CAPTURE["captureKey"] = OF_EXAMPLES["lck_xafPsoYw0V1s2O7SQsm7paFZ"] = new


def real(name, value):
    match value:
        case dict():
            return {key: real(key, item) for key, item in value.items()}
        case list():
            # Keep unique items unique.
            items = [real(name, item) for item in value]
            return items if len(set(map(str, items))) == len(set(map(str, value))) else value
        case str() if value in OF_EXAMPLES:
            return OF_EXAMPLES[value]
        case str() if is_uuid(value) and name in REAL and value not in THERE and (number := int(value.replace("-", ""), 16)) % 3:
            return REAL[name][number % len(REAL[name])]
    return value


def recent(body):
    """A job reaches 14 days back at most, so the times of the example become those of the last two hours."""
    ago = {"2026-01-01T00:00:00.000Z": 2, "2026-01-02T00:00:00.000Z": 1}
    now = datetime.datetime.now(datetime.UTC)
    moments = {text: (now - datetime.timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%S.000Z") for text, hours in ago.items()}
    return {name: moments.get(value, value) if isinstance(value, str) else value for name, value in body.items()}


def with_values(body):
    """The template of the example has other places than the stack's template that stands for it."""
    sent = body.get("template")
    if isinstance(sent, dict) and isinstance(sent.get("parameters"), dict) and "city" in sent["parameters"]:
        return body | {"template": sent | {"parameters": {"booking": "4711"}}}
    return body


def erases(body):
    """Whether this body of a request for an erasure asks for more than a preview."""
    if isinstance(body, dict):
        return set(body) <= {"dryRun"} and any(body.get("dryRun") is value for value in (None, False))
    return isinstance(body, NotSet)


def lead(body):
    """Replaces the secrets of a lead by valid ones, if it has some. Otherwise every lead would be refused because of them."""
    if not isinstance(body, dict):
        return body
    token = body.get("recaptchaToken")
    if isinstance(token, str) and 0 < len(token) <= 8192 and not CONTROL.search(token):
        body = body | {"recaptchaToken": f"pass-{uuid.uuid4()}"}
    key = body.get("captureKey")
    if isinstance(key, str) and 0 < len(key) <= 128 and not CONTROL.search(key):
        body = body | {"captureKey": CAPTURE["captureKey"]}
    return body


# Settings of lead capture under which later leads are still accepted.
OPEN = {name: CAPTURE[name] for name in ("enabled", "origins", "brandId", "leadTemplateId", "threshold", "dailyCap", "phoneCap")}
OPEN |= {"captchaSecret": "secret-for-127.0.0.1"}  # the secret of the demo


# File type -> a matching extension and content type.
FITTING = {
    "IMAGE": (".png", "image/png"),
    "VIDEO": (".mp4", "video/mp4"),
    "AUDIO": (".ogg", "audio/ogg"),
    "DOCUMENT": (".pdf", "application/pdf"),
    "STICKER": (".webp", "image/webp"),
    "GIF": (".gif", "image/gif"),
}


def file(item):
    """Makes the extension and the content type of a file match, if they may, because random ones never match. Leaves every
    third file unchanged."""
    if not isinstance(item, dict) or not all(isinstance(item.get(name), str) for name in ("name", "fileType", "contentType")):
        return item
    name, fits = item["name"], FITTING.get(item["fileType"])
    if not fits or not 0 < len(name) <= 250 or len(name) % 3 == 0 or CONTROL.search(name + item["contentType"]):
        return item
    return item | {"name": name + fits[0], "contentType": fits[1]}


def is_uuid(value):
    return isinstance(value, str) and UUID.fullmatch(value) is not None


def error_of(response):
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


# Rules that a schema cannot express: patterns for the location and the type of the failure.
BEYOND_SCHEMAS = [
    # An identifier requires its type, and the type requires the identifier.
    (r"query\.(internal|external)(User)?Identifier(Type)?", r".*"),
    # A cursor must be one that the service sealed.
    (r"query\.cursor", "value_error"),
    # Not every text of the pattern is a URL of a public host.
    (r"body\.url", "value_error|string_too_long"),
    # Not every text of the pattern is a time of the calendar, or ahead.
    (r"query\.(since|until)|body\.expiresAt", "value_error"),
    # A range of time begins at most 14 days ago and before its end, which only a replay has.
    (r"body\.(since|until)", "value_error"),
    # A cursor of the retries of leads.
    (r"body\.cursor", "value_error"),
    # A URL has more rules than a pattern can say.
    (r"body\.(returnUrl|url)", "value_error"),
    # A search needs a character that remains without white space, accents and apostrophes, and has at most five words.
    (r"query\.search", "value_error|string_too_short"),
    # The size limit depends on the file's type. Name and content type must match the type.
    (r"body\.\d+\.contentLength", "less_than_equal"),
    (r"body\.\d+\.(name|contentType)", "value_error"),
    # An attribute occurs at most once in both lists together.
    (r"body\.customAttributes\.(open|closed)Attributes\.\d+\.customAttributeId", "value_error"),
    (r"body\.customAttributes", "too_long"),
    # A template goes alone and to the customers. Its values have a limit together.
    (r"body\.template", "value_error"),
    # The workspace has no such user.
    (r"body\.members", "value_error"),
    (r"body\.(template\.)?parameters", "string_too_long"),
    # Values fit the type of their attribute and differ. An OPEN attribute has none.
    (r"body\.values?(\.\d+)?", "value_error"),
    # A keyword has a letter or a digit, and is of one kind.
    (r"body(\.(stop|stopMarketing|start)\.\d+)?", "value_error|string_too_short"),
    # The limit applies to the participants after the change.
    (r"body\.participants\.(externals|internals)\.add", "too_long"),
    # The usage by the hour begins at most 31 days before its end.
    (r"query\.from", "value_error"),
]


@schemathesis.check
def well_formed_requests_are_not_refused_as_ill_formed(ctx, response, case):
    """A request that the schema allows may be refused for its content, but not for its shape."""
    meta = case.meta
    if meta is None or not meta.generation.mode.is_positive or is_odd(case):
        return
    if "/leadscout/" in case.path or case.path == "/health":
        return
    error = error_of(response) if response.status_code >= 400 else {}
    assert response.status_code not in (400, 413, 415), f"the response to a well-formed request is {response.status_code}"
    if error.get("code") == "SERVICE_CORE_0422":
        for failure in error["detail"]:
            place = ".".join(failure["loc"])
            known = any(re.fullmatch(at, place) and re.fullmatch(kind, failure["type"]) for at, kind in BEYOND_SCHEMAS)
            assert known, f"the schema allows a value that the API refuses with {failure['type']} at {place}: {failure['input']!r}"


@schemathesis.check
def examples_succeed(ctx, response, case):
    # The key of a program has no session to end.
    if case.operation.label.startswith("DELETE") and case.operation.label.endswith("/session"):
        assert response.status_code in (403, 404), f"the response to a key is {response.status_code}"
    elif case.meta is None or case.meta.phase.name.name != "EXAMPLES":
        return
    # A lead that was retried a moment ago is queued.
    elif case.operation.label.endswith("/retry") and "/leads/" in case.operation.label:
        assert response.status_code in (200, 404, 409, 412, 422), f"the response to a retry is {response.status_code}"
    else:
        assert response.status_code < 300, f"the response to an example is {response.status_code}"


@schemathesis.check
def an_unknown_method_gets_404(ctx, response, case):
    if is_odd(case):
        assert response.status_code == 404, f"the response to {case.method} is {response.status_code}"


def is_odd(case):
    """Whether the method is one that the path does not have."""
    return case.method.upper() not in {method.upper() for method in case.operation.schema[case.path]}
