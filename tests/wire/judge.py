"""Holds calls against the rules, and counts what it looked at."""

import collections
import dataclasses

import rules
from exchange import Call, Unknown
from rules import shapes
from tables import Table


@dataclasses.dataclass(frozen=True)
class Finding:
    """A violation. `rule` is the name of the function that found it."""

    rule: str
    service: str
    operation: str
    caller: str
    what: str

    def __str__(self):
        return f"{self.caller}: {self.service} {self.operation}: {self.what} ({self.rule})"


class Judge:
    def __init__(self, tables, held=None):
        self.tables = tables
        self.rules = rules.ALL if held is None else held
        # (caller, service, operation) -> number of calls
        self.counts = collections.Counter()

    def findings(self, exchange):
        """The findings of one exchange."""
        if exchange.method == "OPTIONS":
            return []  # a browser asks the bucket for its CORS rules
        if exchange.is_from_outside and not exchange.succeeded:
            return []  # somebody else's request, which was refused
        try:
            call = Call(exchange)
        except Unknown as error:
            return [Finding("known_operation", "?", "?", exchange.caller, str(error))]
        self.counts[exchange.caller, call.service, call.operation] += 1
        if call.operation == "CreateTable" and exchange.succeeded:
            self.tables[call.parameters["TableName"]] = Table.of(call.parameters)
        # A request of another shape would confuse the other rules.
        by_shape = self.held(call, [rule for rule in self.rules if rule is shapes.request_shape])
        return by_shape or self.held(call, [rule for rule in self.rules if rule is not shapes.request_shape])

    def held(self, call, held):
        found = []
        for rule in held:
            try:
                found += [(rule.__name__, what) for what in rule(call, self.tables)]
            except Exception as error:  # a rule that fails must not hide what it looks at
                found.append((rule.__name__, f"the rule failed: {error!r}"))
        return [Finding(name, call.service, call.operation, call.exchange.caller, what) for name, what in found]

    def summary(self):
        """Service -> operation -> number of calls, and the callers of each service."""
        services, callers = {}, {}
        for (caller, service, operation), count in sorted(self.counts.items()):
            operations = services.setdefault(service, {})
            operations[operation] = operations.get(operation, 0) + count
            callers.setdefault(service, {}).setdefault(caller, 0)
            callers[service][caller] += count
        return {"services": services, "callers": callers}
