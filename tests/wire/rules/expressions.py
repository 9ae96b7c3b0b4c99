"""The expressions of DynamoDB: grammar, names, values, types of operands, sizes."""

import functools

from exchange import decoded
from rules import grammar
from rules.grammar import Path, Value
from rules.reserved import WORDS

PARSERS = {
    "ConditionExpression": grammar.condition,
    "FilterExpression": grammar.condition,
    "KeyConditionExpression": grammar.condition,
    "ProjectionExpression": grammar.projection,
    "UpdateExpression": grammar.update,
}
NAMES, VALUES = "ExpressionAttributeNames", "ExpressionAttributeValues"
LONGEST = 4096
LONGEST_PLACEHOLDER = 255
# The bytes of all names and values of one expression's maps.
LONGEST_MAPS = 2 * 1024 * 1024
MOST_OPERATORS = 300
DEEPEST = 32
# The types that an attribute can have, as `attribute_type` names them.
TYPES = {"S", "SS", "N", "NS", "B", "BS", "BOOL", "NULL", "L", "M"}
ORDERED = {"S", "N", "B"}
SETS = {"SS", "NS", "BS"}


def grammar_of_expressions(call, _tables):
    for statement in call.statements:
        for field, text in _texts(statement):
            try:
                _parsed(field, text)
            except grammar.Invalid as error:
                yield f"{statement.path}{field} is invalid: {error}: {text}"


def reserved_words(call, _tables):
    for statement, field, tree in _trees(call):
        for path in grammar.paths(tree):
            for part in path.parts:
                if isinstance(part, str) and part.upper() in WORDS:
                    yield f"{statement.path}{field} uses the reserved word {part}"


def undefined_placeholders(call, _tables):
    for statement, field, tree in _trees(call):
        for name in _placeholders(tree):
            if name not in statement.parameters.get(_map_of(name), {}):
                yield f"{statement.path}{field} uses {name}, which {_map_of(name)} does not define"


def unused_placeholders(call, _tables):
    """DynamoDB refuses a name or value that no expression uses, also if there is no expression."""
    for statement in call.statements:
        try:
            used = {name for field, text in _texts(statement) for name in _placeholders(_parsed(field, text))}
        except grammar.Invalid:
            continue  # another finding
        for field in (NAMES, VALUES):
            for name in statement.parameters.get(field, {}):
                if name not in used:
                    yield f"{statement.path}{field} defines {name}, which no expression uses"


def empty_placeholders(call, _tables):
    for statement in call.statements:
        for field in (NAMES, VALUES):
            if statement.parameters.get(field) == {}:
                yield f"{statement.path}{field} is empty: leave it out"


def placeholder_form(call, _tables):
    for statement in call.statements:
        for field, sign in ((NAMES, "#"), (VALUES, ":")):
            for name in statement.parameters.get(field, {}):
                if not name.startswith(sign) or not name[1:].replace("_", "a").isalnum() or not name.isascii():
                    yield f"{statement.path}{field} defines {name}: {sign} and letters or digits are permitted"
                elif len(name) > LONGEST_PLACEHOLDER:
                    yield f"{statement.path}{field} defines a name of {len(name)} bytes, at most {LONGEST_PLACEHOLDER}"


def expression_size(call, _tables):
    for statement in call.statements:
        for field, text in _texts(statement):
            if len(text.encode()) > LONGEST:
                yield f"{statement.path}{field} has {len(text.encode())} bytes, at most {LONGEST}"
    for statement, field, tree in _trees(call):
        operators = [node for node in grammar.walk(tree) if isinstance(node, grammar.Node) and node.name not in ("projection", "update")]
        if len(operators) > MOST_OPERATORS:
            yield f"{statement.path}{field} has {len(operators)} operators and functions, at most {MOST_OPERATORS}"
        for path in grammar.paths(tree):
            if len(path.parts) > DEEPEST:
                yield f"{statement.path}{field} has a path with {len(path.parts)} parts, at most {DEEPEST}"


def operand_types(call, _tables):
    for statement, field, tree in _trees(call):
        values = statement.parameters.get(VALUES, {})
        for node in grammar.walk(tree):
            for problem in _operands(node, values):
                yield f"{statement.path}{field}: {problem}"


def overlapping_paths(call, _tables):
    """No part of an update or of a projection may touch the same attribute as another one."""
    for statement, field, tree in _trees(call):
        if field == "UpdateExpression":
            touched = [action.operands[0] for clause in tree.operands for action in clause.operands]
        elif field == "ProjectionExpression":
            touched = tree.operands
        else:
            continue
        touched = [_resolved(path, statement) for path in touched]
        for number, one in enumerate(touched):
            for other in touched[:number]:
                shorter = min(len(one), len(other))
                if one[:shorter] == other[:shorter]:
                    yield f"{statement.path}{field}: {Path(other)} and {Path(one)} overlap"


RULES = [
    grammar_of_expressions,
    reserved_words,
    undefined_placeholders,
    unused_placeholders,
    empty_placeholders,
    placeholder_form,
    expression_size,
    operand_types,
    overlapping_paths,
]


def trees(statement):
    """The expressions of a statement that follow the grammar, with the fields that they are in."""
    for field, text in _texts(statement):
        try:
            yield field, _parsed(field, text)
        except grammar.Invalid:
            pass  # grammar_of_expressions says so


def first_names(node, statement):
    """The attributes that the paths of an expression begin with."""
    return [_resolved(path, statement)[0] for path in grammar.paths(node)]


def resolved_name(path, statement):
    return _resolved(path, statement)[0]


def value_of(node, statement):
    """The value of an operand, such as {"S": "x"}; `None` if the operand is something else."""
    return statement.parameters.get(VALUES, {}).get(node.name) if isinstance(node, Value) else None


def _texts(statement):
    for field in PARSERS:
        if isinstance(text := statement.parameters.get(field), str):
            yield field, text


def _trees(call):
    for statement in call.statements:
        for field, tree in trees(statement):
            yield statement, field, tree


@functools.lru_cache(maxsize=4096)
def _parsed(field, text):
    return PARSERS[field](text)


def _placeholders(tree):
    for value in grammar.values(tree):
        yield value.name
    for path in grammar.paths(tree):
        yield from (part for part in path.parts if isinstance(part, str) and part.startswith("#"))


def _map_of(placeholder):
    return NAMES if placeholder.startswith("#") else VALUES


def _resolved(path, statement):
    names = statement.parameters.get(NAMES, {})
    return tuple(names.get(part, part) if isinstance(part, str) else part for part in path.parts)


def _type(operand, values):
    """The type of a value; `None` if it is only known to DynamoDB."""
    if isinstance(operand, Value) and isinstance(values.get(operand.name), dict):
        return next(iter(values[operand.name]), None)
    if isinstance(operand, grammar.Node) and operand.name == "size":
        return "N"
    return None


def _operands(node, values):
    name, operands = getattr(node, "name", None), getattr(node, "operands", ())
    types = [_type(operand, values) for operand in operands]
    is_known = [kind is not None for kind in types]
    if name in grammar.COMPARATORS | {"BETWEEN", "contains", "begins_with"}:
        if operands[0] in operands[1:]:
            yield f"the operands of {name} must be distinct"
    if name in ("<", "<=", ">", ">=", "BETWEEN"):
        if wrong := [kind for kind in types if kind and kind not in ORDERED]:
            yield f"{name} takes no operand of the type {wrong[0]}"
    if name == "BETWEEN" and all(is_known[1:]):
        low, high = operands[1:]
        if types[1] != types[2]:
            yield "the bounds of BETWEEN have different types"
        elif isinstance(low, Value) and isinstance(high, Value) and _order(values[low.name]) > _order(values[high.name]):
            yield "the bounds of BETWEEN are in the wrong order"
    if name in ("attribute_exists", "attribute_not_exists", "size") and not isinstance(operands[0], Path):
        if not (name == "size" and isinstance(operands[0], Value)):
            yield f"{name} takes a path"
    if name == "size" and types[0] in ("N", "BOOL", "NULL"):
        yield f"size takes no operand of the type {types[0]}"
    if name in ("begins_with", "attribute_type"):
        wanted = {"S", "B"} if name == "begins_with" else {"S"}
        if wrong := [kind for kind in types if kind and kind not in wanted]:
            yield f"{name} takes no operand of the type {wrong[0]}"
        elif name == "attribute_type" and isinstance(operands[1], Value) and operands[1].name in values:
            if (wanted := values[operands[1].name]["S"]) not in TYPES:
                yield f"attribute_type: {wanted} is no type"
    if name in ("+", "-"):
        if wrong := [kind for kind in types if kind and kind != "N"]:
            yield f"{name} takes no operand of the type {wrong[0]}"
    if name == "list_append":
        if wrong := [kind for kind in types if kind and kind != "L"]:
            yield f"list_append takes no operand of the type {wrong[0]}"
    if name == "if_not_exists" and not isinstance(operands[0], Path):
        yield "if_not_exists takes a path first"
    if name in ("ADD", "DELETE") and len(operands) == 2 and isinstance(operands[1], Value) and is_known[1]:
        permitted = SETS | {"N"} if name == "ADD" else SETS
        if types[1] not in permitted:
            yield f"{name} takes no operand of the type {types[1]}"


def _order(value):
    kind, content = next(iter(value.items()))
    if kind == "N":
        return float(content)
    return content.encode() if kind == "S" else decoded(content)
