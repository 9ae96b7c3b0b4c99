"""One request and its response, as bytes, and what they mean by botocore's models."""

import base64
import dataclasses
import functools
import json
import re
import urllib.parse

import botocore.session

# The services of this project. Each one is a model of botocore.
SERVICES = ["dynamodb", "dynamodbstreams", "sqs", "s3"]


@functools.cache
def model(service):
    return botocore.session.get_session().get_service_model(service)


@functools.cache
def _targets():
    """The first part of the header X-Amz-Target -> service."""
    return {model(name).metadata.get("targetPrefix"): name for name in SERVICES if name != "s3"}


@dataclasses.dataclass(frozen=True)
class Exchange:
    """`target` is the path and the query, as they were sent. The names of headers are in lower case."""

    method: str
    target: str
    headers: dict
    body: bytes
    status: int
    answer_headers: dict
    answer: bytes

    @property
    def succeeded(self):
        return self.status < 300

    @property
    def is_from_outside(self):
        """Whether a client of the service sent it, to a presigned URL or without any signature."""
        return "authorization" not in self.headers

    @property
    def caller(self):
        """The SDK's user agent ends with `app/<name>`: functions give their own name, and so does the console."""
        if self.is_from_outside:
            return "a client of the service"
        agent = self.headers.get("user-agent", "an unknown caller")
        found = re.search(r"\bapp/(\S+)", agent)
        return found.group(1) if found else agent.partition(" ")[0]


class Unknown(Exception):
    """The request is of no service or operation that the models know."""


class Call:
    """A request and its response with their meaning. `parameters` has the form of the model's input shape."""

    def __init__(self, exchange):
        self.exchange = exchange
        prefix, _, operation = exchange.headers.get("x-amz-target", "").partition(".")
        if operation:
            if prefix not in _targets():
                raise Unknown(f"{prefix} is no service of this project")
            self.service = _targets()[prefix]
            if operation not in model(self.service).operation_names:
                raise Unknown(f"{self.service} has no operation {operation}")
            self.model = model(self.service).operation_model(operation)
            self.parameters = _json(exchange.body, f"the body of {operation}")
        else:
            self.service = "s3"
            self.model, self.parameters = _s3(exchange)
        self.operation = self.model.name

    @functools.cached_property
    def answer(self):
        """The response's body as JSON; `None` if it is something else."""
        try:
            return json.loads(self.exchange.answer or b"{}")
        except ValueError:
            return None

    @functools.cached_property
    def error(self):
        """The code of a JSON service's error; `None` if the call succeeded or has no code."""
        if self.exchange.succeeded or not isinstance(self.answer, dict):
            return None
        code = self.answer.get("__type") or self.answer.get("code") or ""
        return code.rpartition("#")[2] or None

    @functools.cached_property
    def statements(self):
        """What the call asks DynamoDB to do, one by one: a transaction or a batch asks for several things."""
        return list(_statements(self)) if self.service == "dynamodb" and isinstance(self.parameters, dict) else []


@dataclasses.dataclass(frozen=True)
class Statement:
    """One thing that a call asks of one table. `kind` is Get, Query, Put, Update, Delete or Check."""

    kind: str
    table: str
    parameters: dict
    path: str

    @property
    def key(self):
        return self.parameters.get("Key")

    @property
    def item(self):
        return self.parameters.get("Item")


SINGLE = {"GetItem": "Get", "PutItem": "Put", "UpdateItem": "Update", "DeleteItem": "Delete", "Query": "Query", "Scan": "Query"}
IN_TRANSACTIONS = {"Get": "Get", "Put": "Put", "Update": "Update", "Delete": "Delete", "ConditionCheck": "Check"}


def _statements(call):
    parameters = call.parameters
    if call.operation in SINGLE:
        yield Statement(SINGLE[call.operation], table_of(parameters), parameters, "")
    elif call.operation in ("TransactWriteItems", "TransactGetItems"):
        for number, item in enumerate(parameters.get("TransactItems", [])):
            for action, inner in item.items():
                if action in IN_TRANSACTIONS:
                    yield Statement(IN_TRANSACTIONS[action], table_of(inner), inner, f"TransactItems[{number}].{action}.")
    elif call.operation == "BatchWriteItem":
        for table, requests in parameters.get("RequestItems", {}).items():
            for number, request in enumerate(requests):
                path = f"RequestItems.{table}[{number}]."
                if "PutRequest" in request:
                    yield Statement("Put", name_of(table), request["PutRequest"], f"{path}PutRequest.")
                if "DeleteRequest" in request:
                    yield Statement("Delete", name_of(table), request["DeleteRequest"], f"{path}DeleteRequest.")
    elif call.operation == "BatchGetItem":
        for table, request in parameters.get("RequestItems", {}).items():
            for number, key in enumerate(request.get("Keys", [])):
                # The expressions of a batch read are of all its keys, so only the first one carries them.
                others = {name: value for name, value in request.items() if name != "Keys"} if number == 0 else {}
                yield Statement("Get", name_of(table), others | {"Key": key}, f"RequestItems.{table}.Keys[{number}].")


def table_of(parameters):
    return name_of(parameters.get("TableName", ""))


def name_of(table):
    """Requests may name a table by its ARN."""
    return table.rpartition("/")[2]


def _json(body, what):
    try:
        return json.loads(body)
    except ValueError as error:
        raise Unknown(f"{what} is not JSON: {error}") from error


# --- S3 --------------------------------------------------------------------------------------------------------------

# Parameters of the query that are of the signature or that only name the operation for people.
NOT_OF_THE_INPUT = re.compile(r"x-amz-(algorithm|credential|date|expires|signedheaders|signature|security-token|content-sha256)|x-id")


def _s3(exchange):
    """S3 tells its operations apart by method, path and query. The addresses are path-style, because the emulator has one host
    for all buckets."""
    place = urllib.parse.urlsplit(exchange.target)
    bucket, _, key = place.path.lstrip("/").partition("/")
    query = dict(urllib.parse.parse_qsl(place.query, keep_blank_values=True))
    query = {name: value for name, value in query.items() if not NOT_OF_THE_INPUT.fullmatch(name.lower())}
    in_path = {"Bucket": urllib.parse.unquote(bucket), "Key": urllib.parse.unquote(key)}
    parameters = {name: text for name, text in in_path.items() if text}
    operation = _s3_operation(exchange, set(parameters), query)
    shape = operation.input_shape
    for name, member in (shape.members if shape else {}).items():
        place_of = member.serialization
        if place_of.get("location") == "header" and place_of["name"].lower() in exchange.headers:
            parameters[name] = exchange.headers[place_of["name"].lower()]
        elif place_of.get("location") == "querystring" and place_of["name"] in query:
            parameters[name] = query[place_of["name"]]
        elif place_of.get("location") == "headers":
            prefix = place_of["name"].lower()
            parameters[name] = {
                header.removeprefix(prefix): value for header, value in exchange.headers.items() if header.startswith(prefix)
            }
    return operation, parameters


@functools.cache
def _s3_operations():
    """What tells operations apart: the method, the members in the path, the fixed parameters of the query, and the parameters and
    headers that must be there."""
    operations = []
    for name in model("s3").operation_names:
        operation = model("s3").operation_model(name)
        path, _, query = operation.http["requestUri"].partition("?")
        fixed = {part for part in query.split("&") if part and not part.startswith("x-id")}
        required = {
            member.serialization["name"]
            for required in (operation.input_shape.required_members if operation.input_shape else [])
            if (member := operation.input_shape.members[required]).serialization.get("location") in ("querystring", "header")
        }
        in_path = {member for member in ("Bucket", "Key") if f"{{{member}" in path}
        operations.append((operation.http["method"], in_path, fixed, required, operation))
    # The most specific first: the one with more parameters that must be there.
    return sorted(operations, key=lambda one: -len(one[2]) - len(one[3]))


def _s3_operation(exchange, in_path, query):
    given = {name if value == "" else f"{name}={value}" for name, value in query.items()}
    present = set(query) | set(exchange.headers)
    for method, needed, fixed, required, operation in _s3_operations():
        if method != exchange.method or needed != in_path or not fixed <= given:
            continue
        if {name.lower() for name in required} <= {name.lower() for name in present}:
            return operation
    raise Unknown(f"S3 has no operation for {exchange.method} {exchange.target.partition('?')[0]}")


def decoded(text):
    """The bytes of a blob, which JSON holds in Base64."""
    return base64.b64decode(text, validate=True)
