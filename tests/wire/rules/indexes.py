"""Indexes: a query of one reads only what it has, and a global one has no strongly consistent reads."""

from rules import expressions


def known_index(call, tables):
    for statement, table in _queries(call, tables):
        if table.index_of(statement.parameters) is None:
            yield f"{statement.path}IndexName: {table.name} has no index {statement.parameters['IndexName']}"


def consistent_read(call, tables):
    for statement, index, _ in _indexes(call, tables):
        if index.is_global and statement.parameters.get("ConsistentRead"):
            yield f"{statement.path}ConsistentRead is not supported on the global index {index.name}"


def projected_attributes(call, tables):
    for statement, index, table in _indexes(call, tables):
        for field, tree in expressions.trees(statement):
            for name in expressions.first_names(tree, statement):
                if field in ("FilterExpression", "ProjectionExpression") and not table.is_readable(index, name):
                    yield f"{statement.path}{field} uses {name}, which the index {index.name} does not project"


def selected_attributes(call, tables):
    for statement, index, _ in _indexes(call, tables):
        if statement.parameters.get("Select") == "ALL_ATTRIBUTES" and index.is_global and index.projected is not None:
            yield f"{statement.path}Select: the index {index.name} does not project all attributes"
    for statement, _ in _queries(call, tables):
        select, projects = statement.parameters.get("Select"), "ProjectionExpression" in statement.parameters
        if select and projects != (select == "SPECIFIC_ATTRIBUTES"):
            yield f"{statement.path}Select is {select}, which does {'not ' if projects else ''}go with a ProjectionExpression"
        if select == "ALL_PROJECTED_ATTRIBUTES" and "IndexName" not in statement.parameters:
            yield f"{statement.path}Select is {select}, which only indexes have"


RULES = [known_index, consistent_read, projected_attributes, selected_attributes]


def _queries(call, tables):
    for statement in call.statements:
        if statement.kind == "Query" and (table := tables[statement.table]):
            yield statement, table


def _indexes(call, tables):
    for statement, table in _queries(call, tables):
        index = table.index_of(statement.parameters)
        if index is not None and index is not table.main:
            yield statement, index, table
