"""Generators make complete, strictly typed clients from openapi.yaml, and linters report nothing."""

import re

import pytest
from conftest import NODE, PROGRAMS, ROOT, run
from document import body, deref, document, operations

OPERATIONS = [pytest.param(operation, id=operation["operationId"]) for _, _, operation, _ in operations()]
DRIVERS = ["drive.py", "drive_fetch.ts", "drive_hey.ts"]


def snake(name):
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def pascal(name):
    return name[0].upper() + name[1:]


def named(schema):
    """(name, whether it is an array of it), or None for a schema without a name."""
    many = "items" in schema
    pointer = (schema["items"] if many else schema).get("$ref")
    return pointer and (pointer.rsplit("/", 1)[1], many)


def answers(operation):
    """(status, content type, schema) of each response with a body."""
    for status, answer in operation["responses"].items():
        for content_type, media in deref(answer).get("content", {}).items():
            yield status, content_type, media["schema"]


def in_python(schema):
    name, many = named(schema)
    whole = document()["components"]["schemas"][name]
    choices = [named(choice)[0] for choice in whole.get("anyOf", whole.get("oneOf", []))]
    one = " | ".join(sorted(choices or [name]))
    return f"list[{one}]" if many else one


@pytest.mark.parametrize("operation", OPERATIONS)
def test_python_has_every_operation_with_its_body_and_its_responses(clients, operation):
    [module] = (clients / "messaging_client" / "api").glob(f"*/{snake(operation['operationId'])}.py")
    code = module.read_text()
    for function in ("sync_detailed", "sync", "asyncio_detailed", "asyncio"):
        assert f"def {function}(" in code
    if schema := body(operation):
        optional = "" if operation["requestBody"].get("required") else " | Unset = UNSET"
        assert f"    body: {in_python(schema)}{optional},\n" in code
    for status, _, schema in answers(operation):
        found = named(schema)
        assert found or status == "200", f"the body of {status} has no name"
        if found:
            name, many = found
            read = f"{name}.from_dict(response_{status}_item_data)" if many else f"response_{status} = {name}.from_dict("
            assert read in code, status


@pytest.mark.parametrize("client, start", [("oazapfts.mts", "export function "), ("orval.ts", "export const ")])
def test_two_more_clients_have_every_operation(clients, client, start):
    """test_typescript_compiles_and_refuses_misuse compiles them."""
    code = (clients / client).read_text()
    for _, _, operation, _ in operations():
        assert re.search(rf"^{start}{operation['operationId']}\b", code, re.MULTILINE), operation["operationId"]


PRELUDE = """
import type * as hey from "./hey";
import type { components, operations, webhooks } from "./openapi_typescript";
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type IsAny<A> = 0 extends 1 & A ? true : false;
type Sure<T extends true> = T;
"""


def typescript_checks():
    """A program that compiles only if both TypeScript clients give each body the type of its schema."""
    checks = []

    def same(one, other):
        checks.append(f"\n  Sure<Same<{one}, {other}>>")

    for _, _, operation, _ in operations():
        name = operation["operationId"]
        type_name = f"hey.{pascal(name)}"
        # A body may be optional.
        sent = f'NonNullable<operations["{name}"]["requestBody"]>["content"]["application/json"]'
        bodies = [(sent, f'NonNullable<{type_name}Data["body"]>', body(operation))]
        for status, content_type, schema in answers(operation):
            kind = "Responses" if status.startswith("2") else "Errors"
            fetched = f'operations["{name}"]["responses"][{status}]["content"]["{content_type}"]'
            bodies.append((fetched, f"{type_name}{kind}[{status}]", schema))
        for fetched, answered, schema in bodies:
            if schema and (found := named(schema)):
                many = "[]" if found[1] else ""
                same(fetched, f'components["schemas"]["{found[0]}"]{many}')
                same(answered, f"hey.{found[0]}{many}")
    for event, _, operation, _ in operations("webhooks"):
        name, _ = named(body(operation))
        sent = f'webhooks["{event}"]["post"]["requestBody"]["content"]["application/json"]'
        same(sent, f'components["schemas"]["{name}"]')
    for name in document()["components"]["schemas"]:
        same(f'IsAny<components["schemas"]["{name}"]>', "false")
        same(f"IsAny<hey.{name}>", "false")
    return PRELUDE + "export type Checks = [" + ", ".join(checks) + "];\n"


def test_typescript_compiles_and_refuses_misuse(clients):
    (clients / "checks.ts").write_text(typescript_checks())
    run([NODE / ".bin" / "tsc", "--project", "."], clients)


def test_python_type_checks_and_refuses_misuse(clients):
    run(["mypy", "--config-file", "mypy.ini", "--cache-dir", ".mypy", "."], clients)


@pytest.mark.parametrize("driver", DRIVERS)
def test_programs_call_every_operation(driver):
    """test_driving.py runs them against a stack."""
    called = set(re.findall(r"""(?:parsed|printed)\("(\w+)\"""", (PROGRAMS / driver).read_text()))
    assert called == {operation["operationId"] for _, _, operation, _ in operations()}


def test_redocly_reports_nothing(clients):
    rules = ["--extends", "recommended", "--format", "json"]
    report = run([NODE / ".bin" / "redocly", "lint", *rules, ROOT / "openapi.yaml"], clients)
    assert '"problems": []' in report, report


def test_spectral_reports_nothing(clients):
    rules = ["--ruleset", PROGRAMS / "spectral.yaml", "--fail-severity", "hint"]
    run([NODE / ".bin" / "spectral", "lint", *rules, ROOT / "openapi.yaml"], clients)
