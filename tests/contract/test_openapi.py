"""openapi.yaml is valid OpenAPI 3.1, its examples match its schemas, and its routes are those of the template."""

import re

import jsonschema
import pytest
import yaml
from document import ROOT, body, deref, document, fields, items, operations
from openapi_spec_validator import OpenAPIV31SpecValidator, validate


def test_it_is_openapi_3_1():
    validate(document(), cls=OpenAPIV31SpecValidator)


def test_operation_ids_are_unique_and_every_operation_is_described_under_one_tag():
    tags = {tag["name"] for tag in document()["tags"]}
    all_operations = [*operations(), *operations("webhooks")]
    ids = [operation["operationId"] for _, _, operation, _ in all_operations]
    assert len(ids) == len(set(ids))
    for path, method, operation, parameters in all_operations:
        where = f"{method} {path}"
        assert operation["summary"] and len(operation["tags"]) == 1 and set(operation["tags"]) <= tags, where
        assert all(parameter["description"] for parameter in parameters), where


def examples():
    """(where, schema, value) of every example of a body and a parameter."""
    for part in ("paths", "webhooks"):
        for path, method, operation, parameters in operations(part):
            where = f"{method} {path}"
            for parameter in parameters:
                if "example" in parameter:
                    yield f"{where}: {parameter['name']}", parameter["schema"], parameter["example"]
            bodies = [("body", operation.get("requestBody", {}))]
            bodies += [(status, deref(answer)) for status, answer in operation["responses"].items()]
            for name, holder in bodies:
                for media in holder.get("content", {}).values():
                    shown = [("example", media["example"])] if "example" in media else []
                    shown += [(key, deref(example)["value"]) for key, example in media.get("examples", {}).items()]
                    assert shown, f"{where}: {name} has no example"
                    for key, value in shown:
                        yield f"{where}: {name}: {key}", media["schema"], value


@pytest.mark.parametrize("where, schema, value", [pytest.param(*found, id=found[0]) for found in examples()])
def test_examples_match_their_schemas(where, schema, value):
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "components": document()["components"]}
    validator = jsonschema.Draft202012Validator(whole, format_checker=jsonschema.FormatChecker())
    assert [error.message for error in validator.iter_errors(value)] == []


def test_a_search_needs_a_character_that_is_compared_in_any_script():
    """A search is normalised: white space, apostrophes and `|` are removed (shared/domain/src/contact/search.rs)."""
    pattern = re.compile(document()["components"]["schemas"]["Search"]["pattern"])
    for text in ("augusta", "Пётр", "李明", "علي", "é", "@@", " O'", "\x1f\x1f"):
        assert pattern.search(text), text
    for text in ("  ", "''", "\u2019\u02bc", "\u3000\u00a0", "| |", "\t\n", "\x85\x85", "\uff07`", "\ufeff\u200b", "-/,·", "\u2013\u2212"):
        assert not pattern.search(text), text


def test_every_component_is_used():
    text = (ROOT / "openapi.yaml").read_text()
    for kind, parts in document()["components"].items():
        for name in parts:
            if kind != "securitySchemes":
                assert f"#/components/{kind}/{name}'" in text, f"nothing uses {kind}/{name}"


class Template(yaml.SafeLoader):
    """Ignores CloudFormation's tags."""


Template.add_multi_constructor("!", lambda loader, suffix, node: None)

# The messaging provider defines this route and calls it. Callers of the service do not need it.
OF_THE_PROVIDER = "/api/v1/whatsapp/{appId}"


def test_routes_are_those_of_the_template():
    resources = yaml.load((ROOT / "template.yaml").read_text(), Template)["Resources"].values()
    routes = set()
    for resource in resources:
        for event in (resource.get("Properties", {}).get("Events") or {}).values():
            if event["Type"] == "Api":
                routes.add((event["Properties"]["Path"], event["Properties"]["Method"].lower()))
        # The routes that the gateway itself answers.
        definition = resource.get("Properties", {}).get("DefinitionBody") or {}
        for path, item in definition.get("paths", {}).items():
            routes |= {(path, method) for method in item}
    # Pages for people, and the webhook that only the provider calls.
    others = {(OF_THE_PROVIDER, "get"), (OF_THE_PROVIDER, "post"), ("/portal", "get"), ("/portal/{file}", "get")}
    assert others < routes
    routes -= others
    assert {(path, method) for path, method, _, _ in operations()} == routes


# Words in the code that reads requests, but that are not names in a request.
OTHER_WORDS = {
    *("body", "query", "header", "path", "api-keys", "audit-log", "webhook-endpoints", "deliveries", "events", "leads", "lead-retries"),
    # Names of lists and routes.
    *("conversations", "contacts", "files", "messages", "templates", "users", "teams", "brands", "lines", "attributes", "sessions", "opt-outs"),
    *("GET", "POST", "PATCH", "PUT", "DELETE", "OPTIONS", "ID", "EMAIL", "PHONE", "REPLAY", "RECOVER", "ALL", "MARKETING"),
}
READERS = [
    "functions/access/src/audit_log.rs",
    "functions/access/src/create.rs",
    "functions/access/src/update.rs",
    "functions/access/src/list.rs",
    "functions/access/src/get.rs",
    "functions/access/src/portal_links.rs",
    "functions/access/src/session.rs",
    "functions/access/src/sessions.rs",
    "functions/deliveries/src/events.rs",
    "functions/deliveries/src/jobs.rs",
    "functions/deliveries/src/log.rs",
    "functions/deliveries/src/requests.rs",
    "functions/lead-records/src/list.rs",
    "functions/lead-records/src/retries.rs",
    "functions/endpoints/src/create.rs",
    "functions/endpoints/src/fields.rs",
    "functions/endpoints/src/get.rs",
    "functions/endpoints/src/secrets.rs",
    "functions/endpoints/src/update.rs",
    "functions/conversations/src/create.rs",
    "functions/conversations/src/update.rs",
    "functions/conversations/src/list.rs",
    "functions/conversations/src/people.rs",
    "functions/contacts/src/list.rs",
    "functions/contacts/src/opt_outs.rs",
    "functions/contacts/src/update.rs",
    "functions/attributes/src/capture.rs",
    "functions/attributes/src/change.rs",
    "functions/attributes/src/keywords.rs",
    "functions/attributes/src/lines.rs",
    "functions/attributes/src/usage.rs",
    "functions/attributes/src/list.rs",
    "functions/attributes/src/onboarding.rs",
    "functions/files/src/create.rs",
    "functions/files/src/get.rs",
    "functions/users/src/change.rs",
    "functions/users/src/change_team.rs",
    "functions/users/src/list.rs",
    "functions/users/src/teams.rs",
    "functions/messages/src/create.rs",
    "functions/messages/src/get.rs",
    "functions/messages/src/list.rs",
    "functions/messages/src/templates/get.rs",
    "functions/messages/src/templates/list.rs",
    "functions/messages/src/templates/preview.rs",
]


def names(schema, seen=()):
    """The names of all fields of a body."""
    found = set()
    for name, field in fields(schema).items():
        found |= {name} | names(field)
    if inner := items(schema):
        found |= names(inner)
    return found


def test_every_field_that_the_code_reads_is_described():
    """test_requests.py checks the opposite: that the code reads every described field."""
    described = {parameter["name"] for _, _, _, parameters in operations() for parameter in parameters}
    for _, _, operation, _ in operations():
        if schema := body(operation):
            described |= names(schema)
    for reader in READERS:
        code = re.sub(r"//.*", "", (ROOT / reader).read_text())
        words = set(re.findall(r'"([A-Za-z]\w*)"', code)) - OTHER_WORDS
        assert words <= described, f"{reader} reads {words - described}"
