"""The shortest and the longest value that a parameter of the template accepts."""

import re
from re import _constants as kinds
from re import _parser as parser

# The maximum length of a parameter in CloudFormation.
LONGEST_PARAMETER = 4096


def shortest(spec, seed=0, filled=False):
    """The shortest value; with `filled`, the shortest value that is not empty. (An empty value turns some features off.)"""
    if "AllowedValues" in spec:
        return str(min(spec["AllowedValues"], key=_size))
    if spec["Type"] == "Number":
        return str(max(int(spec["MinValue"]), 1 if filled else 0))
    for width in range(1 if filled else 0, LONGEST_PARAMETER):
        text = _text(spec, width, seed)
        if len(text) >= (1 if filled else 0) and _accepted(spec, text):
            break
    return [text] if spec["Type"] == "CommaDelimitedList" else text


def longest(spec, seed=0):
    """The longest value. Different seeds give different values where the pattern allows it."""
    if "AllowedValues" in spec:
        return str(max(spec["AllowedValues"], key=_size))
    if spec["Type"] == "Number":
        return str(spec["MaxValue"])
    if spec["Type"] == "CommaDelimitedList":
        text = _text(spec, LONGEST_PARAMETER, seed)
        return [text] * (LONGEST_PARAMETER // (len(text) + 1))
    return _text(spec, LONGEST_PARAMETER, seed)


def _size(value):
    return len(str(value)), str(value)


def _accepted(spec, text):
    return len(text) >= int(spec.get("MinLength", 0)) and bool(re.fullmatch(spec.get("AllowedPattern", ".*"), text, re.S))


def _text(spec, limit, seed=0):
    """The longest text that the parameter accepts, with at most `limit` characters."""
    limit = min(limit, int(spec.get("MaxLength", LONGEST_PARAMETER)))
    return _fill(list(parser.parse(spec.get("AllowedPattern", ".*"))), limit, seed)


def _fill(items, limit, seed):
    spare = limit - sum(_least(item) for item in items)
    text = ""
    for item in items:
        part = _part(item, _least(item) + max(spare, 0), seed)
        spare -= len(part) - _least(item)
        text += part
    return text


def _part(item, limit, seed):
    kind, value = item
    if kind is kinds.LITERAL:
        return chr(value)
    if kind in (kinds.ANY, kinds.NOT_LITERAL):
        return "x"
    if kind is kinds.IN:
        return _one_of(value, seed)
    if kind is kinds.SUBPATTERN:
        return _fill(list(value[3]), limit, seed)
    if kind is kinds.BRANCH:
        fitting = [list(branch) for branch in value[1] if _least_of(branch) <= limit] or [list(value[1][0])]
        return max((_fill(branch, limit, seed) for branch in fitting), key=len)
    if kind is kinds.MAX_REPEAT:
        least, most, repeated = value
        parts = []
        while len(parts) < most:
            still = max(least - len(parts) - 1, 0) * _least_of(repeated)
            room = limit - sum(map(len, parts)) - still
            if len(parts) >= least and room < max(_least_of(repeated), 1):
                break
            part = _fill(list(repeated), room, seed)
            if len(parts) >= least and not 0 < len(part) <= room:
                break
            parts.append(part)
        return "".join(parts)
    raise NotImplementedError(f"{kind} in a pattern of template.yaml")


def _one_of(choices, seed):
    """A character of a set: a letter or a digit, if the set has one."""
    if choices[0][0] is kinds.NEGATE:
        return "x"
    characters = []
    for kind, value in choices:
        if kind is kinds.LITERAL:
            characters.append(chr(value))
        elif kind is kinds.RANGE:
            characters += map(chr, range(value[0], value[1] + 1))
        elif value is kinds.CATEGORY_SPACE:
            characters.append("\n")
        elif value is kinds.CATEGORY_DIGIT:
            characters += "0123456789"
        else:
            raise NotImplementedError(f"{value} in a pattern of template.yaml")
    plain = [character for character in characters if character.isalnum()] or characters
    return plain[seed % len(plain)]


def _least(item):
    return parser.SubPattern(parser.State(), [item]).getwidth()[0]


def _least_of(pattern):
    return pattern.getwidth()[0]
