"""Reads openapi.yaml."""

import functools
import pathlib

import yaml

ROOT = pathlib.Path(__file__).parents[2]
METHODS = {"get", "post", "patch", "put", "delete", "options", "head", "trace"}


@functools.cache
def document():
    return yaml.safe_load((ROOT / "openapi.yaml").read_text())


def deref(node):
    """The target of a `$ref`, or the node itself."""
    if "$ref" not in node:
        return node
    found = document()
    for part in node["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    return found


def operations(part="paths"):
    """(path, method, operation, parameters) of each operation."""
    for path, item in document()[part].items():
        for method, operation in item.items():
            if method in METHODS:
                own = [*item.get("parameters", []), *operation.get("parameters", [])]
                yield path, method, operation, [deref(parameter) for parameter in own]


def fields(schema):
    """The properties of an object, including those of its allOf, anyOf and oneOf parts."""
    schema = deref(schema)
    found = {}
    for part in [*schema.get("allOf", []), *schema.get("anyOf", []), *schema.get("oneOf", [])]:
        found |= fields(part)
    return found | schema.get("properties", {})


def required(schema):
    """The required fields of an object. If the object is a choice, those of its first part."""
    schema = deref(schema)
    parts = [*schema.get("allOf", []), *schema.get("anyOf", [])[:1], *schema.get("oneOf", [])[:1]]
    return set(schema.get("required", [])).union(*map(required, parts))


def items(schema):
    """The schema of an array's items, or None."""
    schema = deref(schema)
    return schema.get("items")


def body(operation):
    """The schema of a request's JSON body, or None."""
    media = operation.get("requestBody", {}).get("content", {}).get("application/json")
    return media and media["schema"]
