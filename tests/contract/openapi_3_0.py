"""Makes openapi-3.0.yaml from openapi.yaml, for generators that do not read OpenAPI 3.1.

    openapi_3_0.py      writes the file

What 3.0 cannot say is left out: webhooks, names of properties, examples of schemas. Preflight requests are left out too:
browsers make them, and progenitor's clients cannot. A generator may demand one type for all
failures of an operation, so all failures of an API have the same schema, which says what they have in common.
"""

import copy

import yaml
from document import ROOT, document

FILE = ROOT / "openapi-3.0.yaml"
HEADER = """# Made by tests/contract/openapi_3_0.py from openapi.yaml, which is the description to read. Do not edit it.
"""
# Without a counterpart in 3.0.
LEFT_OUT = {"propertyNames", "examples"}
NULL = {"type": "null"}
# Response content type -> the schema of all failures.
FAILURES = {"application/json": "Error", "application/problem+json": "Problem"}


def schema(node):
    """The schema in the terms of 3.0."""
    node = {name: value for name, value in node.items() if name not in LEFT_OUT}
    if "$ref" in node:
        # A $ref hides what stands beside it.
        return {"allOf": [{"$ref": node.pop("$ref")}], **node} if len(node) > 1 else node
    if "const" in node:
        value = node.pop("const")
        node = {"type": "integer" if isinstance(value, int) else "string", "enum": [value]} | node
    if node.get("type") == "null":
        # 3.0 has no type of null alone. The description says what is accepted.
        node = node | {"type": "string", "nullable": True}
    if isinstance(node.get("type"), list):
        [node["type"]] = [name for name in node["type"] if name != "null"]
        node["nullable"] = True
    for choice in ("anyOf", "oneOf"):
        if NULL in node.get(choice, []):
            rest = [part for part in node.pop(choice) if part != NULL]
            node = {"allOf" if len(rest) == 1 else choice: rest, "nullable": True} | node
    for name in ("allOf", "anyOf", "oneOf"):
        if name in node:
            node[name] = [schema(part) for part in node[name]]
    for name in ("items", "additionalProperties"):
        if isinstance(node.get(name), dict):
            node[name] = schema(node[name])
    if "properties" in node:
        node["properties"] = {name: schema(value) for name, value in node["properties"].items()}
    return node


def everywhere(node):
    """The node with all its schemas in the terms of 3.0."""
    if isinstance(node, list):
        return [everywhere(part) for part in node]
    if not isinstance(node, dict):
        return node
    read = {"schema": schema, "schemas": lambda named: {name: schema(value) for name, value in named.items()}}
    return {name: read.get(name, everywhere)(value) for name, value in node.items() if name != "examples"}


def answers(whole):
    """All responses, those of the components too."""
    yield from whole["components"]["responses"].items()
    for item in whole["paths"].values():
        for operation in item.values():
            if isinstance(operation, dict):
                yield from operation.get("responses", {}).items()


def with_one_type_of_failure(whole):
    """Each failure has the schema of its content type. The schemas that only failures had are gone."""
    schemas = whole["components"]["schemas"]
    base, problem = schemas["ErrorBase"], schemas["ProblemBase"]
    status = {"type": "integer", "description": "The HTTP status."}
    code = {"type": "string", "description": "For programs. The meaning of a code never changes."}
    own = {"Error": (base, {"status": status, "code": code}), "Problem": (problem, {"type": code, "status": status})}
    for name, (common, more) in own.items():
        schemas[name] = common | {
            "properties": common["properties"] | more,
            "required": [*common["required"], *more],
        }
    for status, answer in answers(whole):
        for content_type, media in answer.get("content", {}).items():
            if not str(status).startswith("2") and content_type in FAILURES:
                media["schema"] = {"$ref": f"#/components/schemas/{FAILURES[content_type]}"}
    used = True
    while used:
        text = yaml.dump(whole, Dumper=Plain)
        used = [name for name in schemas if f"#/components/schemas/{name}'" not in text]
        for name in used:
            del schemas[name]


class Plain(yaml.SafeDumper):
    """Writes each value out, without anchors."""

    def ignore_aliases(self, data):
        return True


def made():
    """The text of the file."""
    whole = copy.deepcopy(document())
    del whole["webhooks"]
    for item in whole["paths"].values():
        item.pop("options", None)
    whole["openapi"] = "3.0.3"
    whole["info"].pop("summary")
    whole["info"]["license"].pop("identifier")
    whole = everywhere(whole)
    with_one_type_of_failure(whole)
    return HEADER + yaml.dump(whole, Dumper=Plain, sort_keys=False, allow_unicode=True, width=120)


if __name__ == "__main__":
    FILE.write_text(made())
