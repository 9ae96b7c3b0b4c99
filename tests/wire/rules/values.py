"""Attribute values of DynamoDB: one type each, sets, numbers of at most 38 digits, depth. And the sizes of items."""

import re

NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
MOST_DIGITS = 38
GREATEST_EXPONENT, LEAST_EXPONENT = 125, -130
DEEPEST = 32
SETS = {"SS", "NS", "BS"}
# The parameters that hold attribute values by name.
MAPS = ("Key", "Item", "ExpressionAttributeValues", "ExclusiveStartKey")


def one_type(call, _tables):
    for path, value in _all(call):
        if not isinstance(value, dict) or len(value) != 1:
            yield f"{path} must have exactly one type"


def numbers(call, _tables):
    for path, value in _typed(call):
        for kind, content in value.items():
            texts = [content] if kind == "N" else content if kind == "NS" else []
            for text in texts:
                if isinstance(text, str) and (problem := _number(text)):
                    yield f"{path}: {problem}"


def sets(call, _tables):
    for path, value in _typed(call):
        for kind, content in value.items():
            if kind in SETS and not content:
                yield f"{path} is an empty set"
            elif kind in SETS and len({_canonical(kind, one) for one in content}) != len(content):
                yield f"{path} is a set with duplicates"
            elif kind == "NULL" and content is not True:
                yield f"{path}: NULL must be true"


def depth(call, _tables):
    for statement in call.statements:
        for path, value in top(statement):
            if _depth(value) > DEEPEST:
                yield f"{path} is nested more than {DEEPEST} levels deep"


RULES = [one_type, numbers, sets, depth]


def top(statement):
    """The attribute values of a statement, without those inside others."""
    for field in MAPS:
        content = statement.parameters.get(field)
        for name, value in content.items() if isinstance(content, dict) else ():
            yield f"{statement.path}{field}.{name}", value


def size_of_item(item):
    return sum(len(name.encode()) + size(value) for name, value in item.items())


def size(value):
    """The bytes of a value, as DynamoDB counts them."""
    kind, content = next(iter(value.items()), ("NULL", True))
    if kind == "S":
        return len(content.encode())
    if kind == "N":
        return _size_of_number(content)
    if kind == "B":
        return len(content) * 3 // 4
    if kind in SETS:
        return sum(size({kind[0]: one}) for one in content)
    if kind == "L":
        return 3 + sum(1 + size(one) for one in content)
    if kind == "M":
        return 3 + sum(1 + len(name.encode()) + size(one) for name, one in content.items())
    return 1


def _size_of_number(text):
    digits = re.sub(r"[eE].*|[^0-9]", "", text).strip("0")
    return (len(digits) + 1) // 2 + (2 if text.startswith("-") else 1)


def _number(text):
    if not NUMBER.fullmatch(text):
        return f"{text[:50]!r} is no number"
    mantissa, _, exponent = text.lower().lstrip("+-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    if len(digits.rstrip("0")) > MOST_DIGITS:
        return f"{text} has more than {MOST_DIGITS} digits"
    magnitude = int(exponent or 0) + len(digits) - len(fraction) - 1
    if digits and not LEAST_EXPONENT <= magnitude <= GREATEST_EXPONENT:
        return f"{text} is out of range"
    return None


def _canonical(kind, content):
    return float(content) if kind == "NS" else content


def _all(call):
    for statement in call.statements:
        for path, value in top(statement):
            yield from _inside(path, value)


def _typed(call):
    return ((path, value) for path, value in _all(call) if isinstance(value, dict))


def _inside(path, value):
    yield path, value
    if isinstance(value, dict):
        for number, one in enumerate(value.get("L") or ()):
            yield from _inside(f"{path}[{number}]", one)
        for name, one in (value.get("M") or {}).items():
            yield from _inside(f"{path}.{name}", one)


def _depth(value):
    inner = [*(value.get("L") or ()), *(value.get("M") or {}).values()] if isinstance(value, dict) else []
    return 1 + max(map(_depth, inner), default=0)
