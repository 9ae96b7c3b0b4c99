"""Requests and responses against the shapes of botocore's models: required members, unknown members, types, enumerations,
patterns, lengths and ranges."""

import re

from exchange import decoded


def request_shape(call, _tables):
    shape = call.model.input_shape
    if shape is None:
        return
    if call.service == "s3":
        yield from _text_members(shape, call.parameters)
    else:
        yield from problems(shape, call.parameters, "")


def response_shape(call, _tables):
    if call.service == "s3":
        return  # answers.py looks at the headers of S3
    if call.answer is None:
        yield f"the response is not JSON: {call.exchange.answer[:80]!r}"
    elif call.exchange.succeeded and call.model.output_shape is not None:
        # A response may be outside the limits of lengths: DynamoDB answers with empty maps that the model does not permit.
        yield from problems(call.model.output_shape, call.answer, "", limits=False)


RULES = [request_shape, response_shape]


def problems(shape, value, path, limits=True):
    """A sentence for each violation. `path` ends with a dot, unless it is empty. Without `limits`, lengths, ranges and patterns
    do not count."""
    yield from CHECKS.get(shape.type_name, _anything)(shape, value, path, limits)


def _anything(*_):
    return ()


def _structure(shape, value, path, limits):
    if not isinstance(value, dict):
        yield f"{_named(path)} is {_short(value)}, not an object"
        return
    for name in shape.required_members:
        if value.get(name) is None:
            yield f"{path}{name} is required"
    for name, one in value.items():
        if name not in shape.members:
            yield f"{path}{name} is no member of {shape.name}"
        elif one is not None:
            yield from problems(shape.members[name], one, f"{path}{name}.", limits)
    if getattr(shape, "is_tagged_union", False) and len([one for one in value.values() if one is not None]) != 1:
        yield f"{_named(path)} must have exactly one member"


def _list(shape, value, path, limits):
    if not isinstance(value, list):
        yield f"{_named(path)} is {_short(value)}, not a list"
        return
    yield from _within(limits, shape, len(value), f"the number of entries of {_named(path)}")
    for number, one in enumerate(value):
        yield from problems(shape.member, one, f"{path.removesuffix('.')}[{number}].", limits)


def _map(shape, value, path, limits):
    if not isinstance(value, dict):
        yield f"{_named(path)} is {_short(value)}, not an object"
        return
    yield from _within(limits, shape, len(value), f"the number of entries of {_named(path)}")
    for key, one in value.items():
        yield from problems(shape.key, key, f"the key {key} of {path}", limits)
        yield from problems(shape.value, one, f"{path}{key}.", limits)


def _string(shape, value, path, limits):
    if not isinstance(value, str):
        yield f"{_named(path)} is {_short(value)}, not text"
        return
    yield from _within(limits, shape, len(value), f"the length of {_named(path)}")
    if shape.enum and value not in shape.enum:
        yield f"{_named(path)} is {_short(value)}, which is none of {', '.join(shape.enum)}"
    pattern = shape.metadata.get("pattern")
    if limits and pattern and not re.fullmatch(pattern, value):
        yield f"{_named(path)} is {_short(value)}, which does not match {pattern}"


def _whole(shape, value, path, limits):
    if not isinstance(value, int) or isinstance(value, bool):
        yield f"{_named(path)} is {_short(value)}, not a whole number"
        return
    yield from _within(limits, shape, value, _named(path))
    if abs(value) >= 2 ** (31 if shape.type_name == "integer" else 63):
        yield f"{_named(path)} is {value}, which is too large for its type"


def _number(shape, value, path, limits):
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        yield f"{_named(path)} is {_short(value)}, not a number"
        return
    yield from _within(limits, shape, value, _named(path))


def _boolean(_shape, value, path, _limits):
    if not isinstance(value, bool):
        yield f"{_named(path)} is {_short(value)}, not a boolean"


def _blob(shape, value, path, limits):
    try:
        size = len(decoded(value))
    except (TypeError, ValueError):
        yield f"{_named(path)} is not Base64"
        return
    yield from _within(limits, shape, size, f"the length of {_named(path)}")


CHECKS = {
    "structure": _structure,
    "list": _list,
    "map": _map,
    "string": _string,
    "integer": _whole,
    "long": _whole,
    "float": _number,
    "double": _number,
    "timestamp": _number,
    "boolean": _boolean,
    "blob": _blob,
}


def _text_members(shape, values):
    """Members that travel as text: in the path, the query and the headers."""
    for name in shape.required_members:
        if name not in values and shape.members[name].serialization.get("location"):
            yield f"{name} is required"
    for name, text in values.items():
        member = shape.members[name]
        if member.type_name == "string":
            yield from _string(member, text, f"{name}.", True)
        elif member.type_name in ("integer", "long"):
            yield from _whole(member, int(text) if re.fullmatch(r"-?\d+", text) else text, f"{name}.", True)
        elif member.type_name == "boolean" and text not in ("true", "false"):
            yield f"{name} is {_short(text)}, not a boolean"


def _within(limits, shape, measured, what):
    if not limits:
        return
    least, most = shape.metadata.get("min"), shape.metadata.get("max")
    if least is not None and measured < least:
        yield f"{what} is {measured}, at least {least}"
    if most is not None and measured > most:
        yield f"{what} is {measured}, at most {most}"


def _named(path):
    return path.removesuffix(".") or "the body"


def _short(value):
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
