"""Keys: each statement names a whole key of the right types, and no key is empty or too long."""

from rules import expressions
from rules.grammar import Node, Path, Value

# The longest hash key and the longest range key, in bytes. They hold for indexes too.
LONGEST = (2048, 1024)


def known_table(call, tables):
    for statement in call.statements:
        if tables[statement.table] is None:
            yield f"{statement.path}TableName: there is no table {statement.table}"


def whole_key(call, tables):
    """Key, and the item of a put, have all key attributes; Key has nothing else."""
    for statement, table in _known(call, tables):
        wanted = set(table.main.keys)
        if statement.kind == "Put":
            if missing := wanted - set(statement.item or {}):
                yield f"{statement.path}Item lacks {_list(missing)}, a key of {table.name}"
        elif statement.kind != "Query" and set(statement.key or {}) != wanted:
            yield f"{statement.path}Key has {_list(statement.key or {})}, but the keys of {table.name} are {_list(wanted)}"


def key_types(call, tables):
    """Also of the attributes that are keys of an index."""
    for statement, table in _known(call, tables):
        for path, name, value in _key_values(statement, table):
            kind = next(iter(value), None)
            if kind != table.types[name]:
                yield f"{path} has the type {kind}, but {name} has the type {table.types[name]}"


def empty_key(call, tables):
    for statement, table in _known(call, tables):
        for path, name, value in _key_values(statement, table):
            if value in ({"S": ""}, {"B": ""}):
                yield f"{path} is empty, but {name} is a key"


def key_length(call, tables):
    for statement, table in _known(call, tables):
        for path, name, value in _key_values(statement, table):
            longest = min(
                limit
                for index in (table.main, *table.indexes.values())
                for key, limit in zip(index.keys, LONGEST)
                if key == name
            )
            if "S" in value and len(value["S"].encode()) > longest:
                yield f"{path} has {len(value['S'].encode())} bytes, but {name} has at most {longest}"


def changed_key(call, tables):
    """An update cannot change the keys of its item."""
    for statement, table in _known(call, tables):
        for action in _actions(statement):
            name = expressions.resolved_name(action.operands[0], statement)
            if name in table.main.keys:
                yield f"{statement.path}UpdateExpression changes {name}, which is a key of {table.name}"


def key_condition(call, tables):
    """A query names one hash key, and at most one range of range keys."""
    for statement, table in _known(call, tables):
        index = table.index_of(statement.parameters)
        if statement.kind != "Query" or call.operation == "Scan" or index is None:
            continue
        if "KeyConditionExpression" not in statement.parameters:
            yield f"{statement.path}KeyConditionExpression is required"
        for field, tree in expressions.trees(statement):
            if field == "KeyConditionExpression":
                yield from _key_condition(tree, statement, index)


def filtered_key(call, tables):
    """A filter cannot look at the keys of what the query reads."""
    for statement, table in _known(call, tables):
        index = table.index_of(statement.parameters)
        for field, tree in expressions.trees(statement):
            if field == "FilterExpression" and index is not None and call.operation == "Query":
                for name in set(expressions.first_names(tree, statement)) & set(index.keys):
                    yield f"{statement.path}FilterExpression uses {name}, which is a key"


def start_key(call, tables):
    """ExclusiveStartKey has the keys of the table and those of the index, and nothing else."""
    for statement, table in _known(call, tables):
        start = statement.parameters.get("ExclusiveStartKey")
        index = table.index_of(statement.parameters)
        if start is None or index is None:
            continue
        wanted = set(table.main.keys) | set(index.keys)
        if set(start) != wanted:
            yield f"{statement.path}ExclusiveStartKey has {_list(start)}, but must have {_list(wanted)}"


RULES = [known_table, whole_key, key_types, empty_key, key_length, changed_key, key_condition, filtered_key, start_key]


def _known(call, tables):
    for statement in call.statements:
        if table := tables[statement.table]:
            yield statement, table


def _key_values(statement, table):
    """(path, attribute, value) of everything that becomes a key of the table or of an index, or is compared with one."""
    for field in ("Key", "Item", "ExclusiveStartKey"):
        content = statement.parameters.get(field)
        for name, value in content.items() if isinstance(content, dict) else ():
            if name in table.types and isinstance(value, dict):
                yield f"{statement.path}{field}.{name}", name, value
    for action in _actions(statement):
        path, operand = action.operands if len(action.operands) == 2 else (action.operands[0], None)
        name, value = expressions.resolved_name(path, statement), expressions.value_of(operand, statement)
        if action.name == "SET" and len(path.parts) == 1 and name in table.types and isinstance(value, dict):
            yield f"{statement.path}ExpressionAttributeValues.{operand.name}", name, value
    for field, tree in expressions.trees(statement):
        for part in _parts(tree) if field == "KeyConditionExpression" else ():
            name = expressions.resolved_name(part.operands[0], statement) if isinstance(part.operands[0], Path) else None
            for operand in part.operands[1:]:
                value = expressions.value_of(operand, statement)
                if name in table.types and isinstance(value, dict):
                    yield f"{statement.path}ExpressionAttributeValues.{operand.name}", name, value


def _actions(statement):
    for field, tree in expressions.trees(statement):
        if field == "UpdateExpression":
            for clause in tree.operands:
                yield from clause.operands


def _key_condition(tree, statement, index):
    what = f"{statement.path}KeyConditionExpression"
    seen = []
    for part in _parts(tree):
        if not isinstance(part, Node) or part.name not in ("=", "<", "<=", ">", ">=", "BETWEEN", "begins_with"):
            yield f"{what}: {getattr(part, 'name', part)} is not permitted"
            return
        path = part.operands[0]
        if not isinstance(path, Path) or len(path.parts) != 1 or not all(isinstance(one, Value) for one in part.operands[1:]):
            yield f"{what} compares something else than a key with a value"
            return
        name = expressions.resolved_name(path, statement)
        if name not in index.keys:
            yield f"{what} uses {name}, which is no key of {index.name or 'the table'}"
        elif name in seen:
            yield f"{what} has two conditions for {name}"
        elif name == index.keys[0] and part.name != "=":
            yield f"{what} needs = for the hash key {name}, not {part.name}"
        seen.append(name)
    if index.keys[0] not in seen:
        yield f"{what} lacks the hash key {index.keys[0]}"


def _parts(tree):
    return tree.operands if tree.name == "AND" else (tree,)


def _list(names):
    return ", ".join(sorted(names)) or "nothing"
