"""The grammar of DynamoDB's expressions: a parser for conditions (key conditions and filters too), projections and updates."""

import dataclasses
import re

TOKEN = re.compile(
    r"\s*(?:"
    r"(?P<value>:[A-Za-z0-9_]+)|(?P<name>\#[A-Za-z0-9_]+|[A-Za-z_][A-Za-z0-9_]*)|(?P<number>[0-9]+)"
    r"|(?P<sign><>|<=|>=|[=<>()\[\].,+-])"
    r")"
)
COMPARATORS = {"=", "<>", "<", "<=", ">", ">="}
CLAUSES = {"SET", "REMOVE", "ADD", "DELETE"}
KEYWORDS = CLAUSES | {"AND", "OR", "NOT", "BETWEEN", "IN"}

# The number of operands of each function.
CONDITIONS = {"attribute_exists": 1, "attribute_not_exists": 1, "attribute_type": 2, "begins_with": 2, "contains": 2}
OPERANDS = {"size": 1}
UPDATES = {"if_not_exists": 2, "list_append": 2}
MOST_IN = 100


class Invalid(Exception):
    """The expression does not follow the grammar."""


@dataclasses.dataclass(frozen=True)
class Path:
    """A path to an attribute: names as they are written, and positions in lists as numbers."""

    parts: tuple

    def __str__(self):
        text = ".".join(part if isinstance(part, str) else f"[{part}]" for part in self.parts)
        return text.replace(".[", "[")


@dataclasses.dataclass(frozen=True)
class Value:
    name: str


@dataclasses.dataclass(frozen=True)
class Node:
    """A function, a comparator, a combination or an action of an update, with its operands."""

    name: str
    operands: tuple


def condition(text):
    parser = Parser(text)
    found = parser.any_of()
    parser.end()
    return found


def projection(text):
    parser = Parser(text)
    paths = parser.several(parser.path)
    parser.end()
    return Node("projection", paths)


def update(text):
    """The clauses, each with its actions: Node("SET", (Node("SET", (path, operand)), ...))."""
    parser = Parser(text)
    clauses = []
    while not parser.over():
        word = parser.keyword(CLAUSES)
        if word in [clause.name for clause in clauses]:
            raise Invalid(f"the clause {word} occurs twice")
        clauses.append(Node(word, parser.several(lambda: parser.action(word))))
    if not clauses:
        raise Invalid("it is empty")
    return Node("update", tuple(clauses))


def walk(node):
    """The node and everything below it."""
    yield node
    for operand in getattr(node, "operands", ()):
        yield from walk(operand)


def paths(node):
    return [one for one in walk(node) if isinstance(one, Path)]


def values(node):
    return [one for one in walk(node) if isinstance(one, Value)]


class Parser:
    def __init__(self, text):
        self.tokens = []
        position = 0
        text = text.rstrip()
        while position < len(text):
            found = TOKEN.match(text, position)
            if not found:
                raise Invalid(f"{text[position:].strip()[:20]!r} is no token")
            self.tokens.append((found.lastgroup, found.group(found.lastgroup)))
            position = found.end()
        self.at = 0

    # --- tokens

    def next(self, ahead=0):
        at = self.at + ahead
        return self.tokens[at] if at < len(self.tokens) else ("end", "the end")

    def over(self):
        return self.at >= len(self.tokens)

    def end(self):
        if not self.over():
            raise Invalid(f"{self.next()[1]!r} is not expected")

    def take(self, sign):
        if self.next() != ("sign", sign):
            raise Invalid(f"{self.next()[1]!r} is not expected, but {sign!r}")
        self.at += 1

    def took(self, sign):
        if self.next() != ("sign", sign):
            return False
        self.at += 1
        return True

    def is_keyword(self, words):
        kind, text = self.next()
        return kind == "name" and text.upper() in words

    def took_keyword(self, word):
        if not self.is_keyword({word}):
            return False
        self.at += 1
        return True

    def keyword(self, words):
        if not self.is_keyword(words):
            raise Invalid(f"{self.next()[1]!r} is not expected, but {' or '.join(sorted(words))}")
        self.at += 1
        return self.tokens[self.at - 1][1].upper()

    def several(self, one):
        found = [one()]
        while self.took(","):
            found.append(one())
        return tuple(found)

    # --- conditions

    def any_of(self):
        return self.combination("OR", self.all_of)

    def all_of(self):
        return self.combination("AND", self.negation)

    def combination(self, word, one):
        parts = [one()]
        while self.took_keyword(word):
            parts.append(one())
        return parts[0] if len(parts) == 1 else Node(word, tuple(parts))

    def negation(self):
        return Node("NOT", (self.negation(),)) if self.took_keyword("NOT") else self.primary()

    def primary(self):
        if self.next() == ("sign", "("):
            return self.parenthesised()
        kind, name = self.next()
        if kind == "name" and self.next(1) == ("sign", "(") and name not in OPERANDS:
            return self.function(CONDITIONS, self.operand)
        left = self.operand()
        kind, sign = self.next()
        if kind == "sign" and sign in COMPARATORS:
            self.at += 1
            return Node(sign, (left, self.operand()))
        if self.took_keyword("BETWEEN"):
            low = self.operand()
            self.keyword({"AND"})
            return Node("BETWEEN", (left, low, self.operand()))
        self.keyword({"IN"})
        self.take("(")
        choices = self.several(self.operand)
        self.take(")")
        if len(choices) > MOST_IN:
            raise Invalid(f"IN has {len(choices)} operands, at most {MOST_IN}")
        return Node("IN", (left, *choices))

    def parenthesised(self):
        self.take("(")
        begun = self.at
        inner = self.any_of()
        if self.tokens[begun] == ("sign", "(") and self.closing(begun) == self.at - 1:
            raise Invalid("it has redundant parentheses")
        self.take(")")
        return inner

    def closing(self, opening):
        """The position of the parenthesis that closes this one."""
        depth = 0
        for at in range(opening, len(self.tokens)):
            depth += {("sign", "("): 1, ("sign", ")"): -1}.get(self.tokens[at], 0)
            if depth == 0:
                return at
        return None

    def operand(self):
        kind, text = self.next()
        if kind == "value":
            self.at += 1
            return Value(text)
        if kind == "name" and self.next(1) == ("sign", "("):
            return self.function(OPERANDS, self.operand)
        return self.path()

    def function(self, known, operand):
        name = self.next()[1]
        if name not in known:
            raise Invalid(f"{name} is no function here")
        self.at += 1
        self.take("(")
        operands = self.several(operand)
        self.take(")")
        if len(operands) != known[name]:
            raise Invalid(f"{name} has {len(operands)} operands, not {known[name]}")
        return Node(name, operands)

    def path(self):
        parts = [self.name()]
        while True:
            if self.took("."):
                parts.append(self.name())
            elif self.took("["):
                kind, text = self.next()
                if kind != "number":
                    raise Invalid(f"{text!r} is no position in a list")
                self.at += 1
                self.take("]")
                parts.append(int(text))
            else:
                return Path(tuple(parts))

    def name(self):
        kind, text = self.next()
        if kind != "name" or text.upper() in KEYWORDS:
            raise Invalid(f"{text!r} is not expected, but the name of an attribute")
        self.at += 1
        return text

    # --- updates

    def action(self, word):
        path = self.path()
        if word == "REMOVE":
            return Node(word, (path,))
        if word == "SET":
            self.take("=")
            return Node(word, (path, self.sum()))
        kind, text = self.next()
        if kind != "value":
            raise Invalid(f"{text!r} is not expected, but a value: {word} takes nothing else")
        self.at += 1
        return Node(word, (path, Value(text)))

    def sum(self):
        left = self.part()
        for sign in "+-":
            if self.took(sign):
                return Node(sign, (left, self.part()))
        return left

    def part(self):
        if self.took("("):
            inner = self.sum()
            self.take(")")
            return inner
        kind, text = self.next()
        if kind == "value":
            self.at += 1
            return Value(text)
        if kind == "name" and self.next(1) == ("sign", "("):
            return self.function(UPDATES, self.part)
        return self.path()
