"""Limits of DynamoDB's calls: batches, transactions, items, return values."""

import json

from rules import values

MOST_WRITES, MOST_READS = 25, 100
LARGEST_ITEM = 400 * 1024
LARGEST_TRANSACTION = 4 * 1024 * 1024


def batch_length(call, _tables):
    """The limits hold for all tables of a batch together. The model has them for each table."""
    most = {"BatchWriteItem": MOST_WRITES, "BatchGetItem": MOST_READS}.get(call.operation)
    if most and len(call.statements) > most:
        yield f"the batch has {len(call.statements)} entries in all tables, at most {most}"


def one_item_once(call, tables):
    """A batch and a transaction name each item at most once."""
    if len(call.statements) < 2:
        return
    seen = set()
    for statement in call.statements:
        table = tables[statement.table]
        source = statement.item if statement.kind == "Put" else statement.key
        if table and source is not None:
            key = (table.name, *(json.dumps(source.get(name)) for name in table.main.keys))
            if key in seen:
                yield f"{statement.path} names an item of {table.name} for the second time: {', '.join(key[1:])}"
            seen.add(key)


def item_size(call, _tables):
    for statement in call.statements:
        if statement.kind == "Put" and (size := _size(statement)) > LARGEST_ITEM:
            yield f"{statement.path}Item has {size} bytes, at most {LARGEST_ITEM}"
        if statement.kind == "Update" and (size := _size(statement)) > LARGEST_ITEM:
            yield f"{statement.path}UpdateExpression writes {size} bytes, at most {LARGEST_ITEM}"


def transaction_size(call, _tables):
    if call.operation == "TransactWriteItems" and (size := sum(map(_size, call.statements))) > LARGEST_TRANSACTION:
        yield f"the transaction has {size} bytes, at most {LARGEST_TRANSACTION}"


def one_action(call, _tables):
    """Each entry of a transaction or of a batch write is exactly one action."""
    parameters = call.parameters
    if call.operation in ("TransactWriteItems", "TransactGetItems"):
        entries = [("TransactItems", parameters.get("TransactItems", []))]
    elif call.operation == "BatchWriteItem":
        entries = [(f"RequestItems.{table}", requests) for table, requests in parameters.get("RequestItems", {}).items()]
    else:
        return
    for path, actions in entries:
        for number, action in enumerate(actions):
            if len(action) != 1:
                yield f"{path}[{number}] has {len(action)} actions, not one"


def return_values(call, _tables):
    """The model permits what only updates return."""
    if call.operation in ("PutItem", "DeleteItem") and (wanted := call.parameters.get("ReturnValues", "NONE")) not in ("NONE", "ALL_OLD"):
        yield f"ReturnValues is {wanted}, but {call.operation} returns NONE or ALL_OLD"


RULES = [batch_length, one_item_once, item_size, transaction_size, one_action, return_values]


def _size(statement):
    """The bytes of the item of a put; for others the bytes of the key and of all values."""
    parameters = statement.parameters
    content = statement.item if statement.kind == "Put" else (statement.key or {}) | parameters.get("ExpressionAttributeValues", {})
    return values.size_of_item({name: value for name, value in (content or {}).items() if isinstance(value, dict)})
