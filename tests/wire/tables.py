"""What the judge knows about the stack: the keys and indexes of tables, and which queues exist."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Index:
    """The table itself or an index of it. `keys` are the hash key and the range key, if there is one."""

    name: str
    keys: tuple
    # The attributes that are projected, besides the keys; `None` if all are.
    projected: frozenset | None
    is_global: bool


@dataclasses.dataclass(frozen=True)
class Table:
    name: str
    main: Index
    indexes: dict
    # The types of all key attributes: S, N or B.
    types: dict

    @classmethod
    def of(cls, described):
        """From the parameters of CreateTable or the response of DescribeTable, which have the same form."""
        indexes = {}
        for field, is_global in (("GlobalSecondaryIndexes", True), ("LocalSecondaryIndexes", False)):
            for index in described.get(field) or []:
                indexes[index["IndexName"]] = Index(
                    index["IndexName"], _keys(index), _projected(index.get("Projection", {})), is_global
                )
        types = {one["AttributeName"]: one["AttributeType"] for one in described["AttributeDefinitions"]}
        return cls(described["TableName"], Index("", _keys(described), None, False), indexes, types)

    def index_of(self, parameters):
        """The index that a query names; the table itself if it names none, `None` if there is no such index."""
        name = parameters.get("IndexName")
        return self.main if name is None else self.indexes.get(name)

    def is_readable(self, index, attribute):
        """Whether an index has this attribute."""
        return index.projected is None or attribute in index.projected or attribute in (*index.keys, *self.main.keys)


class Tables(dict):
    """Name -> table; `None` if there is no such table. `describe()` returns the `Table` of DescribeTable for each table that there
    is. It is asked for an unknown name, and gives all: a stack may end before the last call is judged."""

    def __init__(self, describe=list):
        super().__init__()
        self.describe = describe

    def __missing__(self, name):
        for described in self.describe():
            self[described["TableName"]] = Table.of(described)
        return self.get(name)


def _keys(described):
    by_kind = {one["KeyType"]: one["AttributeName"] for one in described["KeySchema"]}
    return tuple(by_kind[kind] for kind in ("HASH", "RANGE") if kind in by_kind)


def _projected(projection):
    kind = projection.get("ProjectionType", "ALL")
    return None if kind == "ALL" else frozenset(projection.get("NonKeyAttributes") or [])
