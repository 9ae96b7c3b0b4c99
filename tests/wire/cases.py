"""For each rule: requests that it must find, each with a correct twin that differs in nothing else."""

import base64
import dataclasses
import hashlib
import json
import zlib

from exchange import Exchange

TABLE = {
    "TableName": "test-things",
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "S"},
        {"AttributeName": "dueShard", "AttributeType": "S"},
        {"AttributeName": "dueAt", "AttributeType": "N"},
        {"AttributeName": "listSk", "AttributeType": "S"},
    ],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "due",
            "KeySchema": [{"AttributeName": "dueShard", "KeyType": "HASH"}, {"AttributeName": "dueAt", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        },
        {
            "IndexName": "list",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "listSk", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["direction"]},
        },
        {
            "IndexName": "whole",
            "KeySchema": [{"AttributeName": "listSk", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        },
    ],
}
TARGETS = {"dynamodb": "DynamoDB_20120810", "sqs": "AmazonSQS", "dynamodbstreams": "DynamoDBStreams_20120810"}


@dataclasses.dataclass(frozen=True)
class Case:
    rule: str
    number: int
    faulty: Exchange
    correct: Exchange

    @property
    def name(self):
        return f"{self.rule}-{self.number}"


def call(service, operation, parameters, status=200, answer=None):
    """A request to a service that speaks JSON, and its response."""
    if answer is None:
        answer = ANSWERS.get(operation, lambda _: {})(parameters)
    headers = {"x-amz-target": f"{TARGETS[service]}.{operation}", "content-type": "application/x-amz-json-1.0"}
    text = parameters if isinstance(parameters, bytes) else json.dumps(parameters).encode()
    body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    return Exchange("POST", "/", headers, text, status, {"content-type": "application/x-amz-json-1.0"}, body)


ANSWERS = {
    "SendMessage": lambda _: {"MD5OfMessageBody": "0" * 32, "MessageId": "m"},
    "SendMessageBatch": lambda parameters: accepted(parameters["Entries"]),
    "ReceiveMessage": lambda _: {"Messages": []},
}


def accepted(entries):
    sent = [{"Id": entry["Id"], "MessageId": "m", "MD5OfMessageBody": "0" * 32} for entry in entries]
    return {"Successful": sent, "Failed": []}


def db(operation, **parameters):
    return call("dynamodb", operation, parameters)


def s3(method, target, headers=None, body=b"", status=200, answer_headers=None, answer=b""):
    if answer_headers is None:
        answer_headers = {"etag": '"0"', "last-modified": "Mon, 23 Nov 2026 00:00:00 GMT", "content-length": str(len(answer))}
    return Exchange(method, target, headers or {}, body, status, answer_headers, answer)


def key(pk="p", sk="s"):
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def s(text):
    return {"S": text}


def n(number):
    return {"N": str(number)}


def update(expression, names=None, values=None, **more):
    maps = {"ExpressionAttributeNames": names, "ExpressionAttributeValues": values}
    maps = {field: content for field, content in maps.items() if content is not None}
    return db("UpdateItem", TableName="test-things", Key=key(), UpdateExpression=expression, **maps, **more)


def query(condition="pk = :pk", values=None, **more):
    values = {":pk": s("p")} | (values or {})
    return db("Query", TableName="test-things", KeyConditionExpression=condition, ExpressionAttributeValues=values, **more)


def due(**more):
    values = {":shard": s("0")} | more.pop("values", {})
    return db(
        "Query", TableName="test-things", IndexName="due", KeyConditionExpression="dueShard = :shard",
        ExpressionAttributeValues=values, **more,
    )


def listed(**more):
    return query(IndexName="list", **more)


def put(**attributes):
    return db("PutItem", TableName="test-things", Item=key() | attributes)


def when(condition, **values):
    """A put with a condition."""
    values = {f":{name}": value for name, value in values.items()}
    maps = {"ExpressionAttributeValues": values} if values else {}
    return db("PutItem", TableName="test-things", Item=key(), ConditionExpression=condition, **maps)


def transaction(*actions):
    return db("TransactWriteItems", TransactItems=list(actions))


def put_action(sk, **attributes):
    return {"Put": {"TableName": "test-things", "Item": key(sk=sk) | attributes}}


def writes(count, sk=str, **attributes):
    requests = [{"PutRequest": {"Item": key(sk=sk(number)) | attributes}} for number in range(count)]
    return db("BatchWriteItem", RequestItems={"test-things": requests})


def split_writes(first, second):
    """A batch over two tables. The proxy knows both by the same description."""
    requests = lambda count: [{"PutRequest": {"Item": key(sk=str(number))}} for number in range(count)]
    return db("BatchWriteItem", RequestItems={"test-things": requests(first), "test-others": requests(second)})


def reads(count, sk=str):
    keys = [key(sk=sk(number)) for number in range(count)]
    return db("BatchGetItem", RequestItems={"test-things": {"Keys": keys, "ConsistentRead": True}})


QUEUE = "http://127.0.0.1/000000000000/test-sends"


def send(*entries, queue=QUEUE, **answered):
    return call("sqs", "SendMessageBatch", {"QueueUrl": queue, "Entries": list(entries)}, **answered)


def entry(name="a", body="{}", **more):
    return {"Id": name, "MessageBody": body, **more}


def message(queue=QUEUE, **more):
    return call("sqs", "SendMessage", {"QueueUrl": queue, "MessageBody": "{}"} | more)


def receive(**more):
    return call("sqs", "ReceiveMessage", {"QueueUrl": QUEUE} | more)


def sha256(body):
    return base64.b64encode(hashlib.sha256(body).digest()).decode()


def crc32(body):
    return base64.b64encode(zlib.crc32(body).to_bytes(4, "big")).decode()


def object_put(target="/test-media/a", body=b"bytes", headers=None, **more):
    return s3("PUT", target, headers={"content-length": str(len(body))} | (headers or {}), body=body, **more)


def refusal(code, status=400, **more):
    return {"status": status, "answer": {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "...", **more}}


SIGNED = "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=a&X-Amz-Date=20261123T000000Z&X-Amz-SignedHeaders=host&X-Amz-Signature=0"

# Each rule with pairs of a faulty request and its correct twin.
PAIRS = {
    "known_operation": [
        (call("dynamodb", "GuessItem", {}), db("GetItem", TableName="test-things", Key=key())),
        (call("dynamodb", "GetItem", b"{"), db("GetItem", TableName="test-things", Key=key())),
    ],
    "request_shape": [
        (db("GetItem", TableName="test-things"), db("GetItem", TableName="test-things", Key=key())),
        (db("GetItem", TableName="test-things", Key=key(), Consistent=True),
         db("GetItem", TableName="test-things", Key=key(), ConsistentRead=True)),
        (query(Select="SOME"), query(Select="COUNT")),
        (query(Limit=0), query(Limit=1)),
        (query(IndexName="a b"), query(IndexName="list")),
        (db("GetItem", TableName="test-things", Key=key() | {"pk": {"S": 1}}), db("GetItem", TableName="test-things", Key=key())),
        (put(blob={"B": "?"}), put(blob={"B": "AAAA"})),
        (transaction(*(put_action(str(at)) for at in range(101))), transaction(*(put_action(str(at)) for at in range(100)))),
        (writes(26), writes(25)),
        (reads(101), reads(100)),
        (call("sqs", "SendMessageBatch", {"QueueUrl": QUEUE}, answer=accepted([])), send(entry())),
        (message(DelaySeconds="1"), message(DelaySeconds=1)),
        (s3("GET", "/test-media?list-type=2&max-keys=x"), s3("GET", "/test-media?list-type=2&max-keys=7")),
    ],
    "response_shape": [
        (call("dynamodb", "GetItem", {"TableName": "test-things", "Key": key()}, answer={"Item": {"a": {"S": 1}}}),
         call("dynamodb", "GetItem", {"TableName": "test-things", "Key": key()}, answer={"Item": {"a": {"S": "1"}}})),
        (call("dynamodb", "GetItem", {"TableName": "test-things", "Key": key()}, answer={"Row": {}}),
         call("dynamodb", "GetItem", {"TableName": "test-things", "Key": key()}, answer={"Item": {}})),
        (call("dynamodb", "GetItem", {"TableName": "test-things", "Key": key()}, answer=b"<html>"),
         call("dynamodb", "GetItem", {"TableName": "test-things", "Key": key()}, answer=b"{}")),
        (call("dynamodb", "BatchGetItem", {"RequestItems": {"test-things": {"Keys": [key()]}}}, answer={"UnprocessedKeys": []}),
         call("dynamodb", "BatchGetItem", {"RequestItems": {"test-things": {"Keys": [key()]}}}, answer={"UnprocessedKeys": {}})),
    ],
    "one_type": [
        (put(a={"S": "x", "N": "1"}), put(a={"S": "x"})),
        (put(a={"M": {"b": {}}}), put(a={"M": {"b": {"BOOL": True}}})),
    ],
    "numbers": [
        (put(a=n("1" * 39)), put(a=n("1" * 38))),
        (put(a=n("1x")), put(a=n("1.5e3"))),
        (put(a=n("1e126")), put(a=n("1e125"))),
        (put(a={"L": [n("")]}), put(a={"L": [n("0")]})),
    ],
    "sets": [
        (put(a={"SS": []}), put(a={"SS": ["x"]})),
        (put(a={"SS": ["x", "x"]}), put(a={"SS": ["x", "y"]})),
        (put(a={"NS": ["1", "1.0"]}), put(a={"NS": ["1", "1.5"]})),
        (put(a={"NULL": False}), put(a={"NULL": True})),
    ],
    "depth": [(put(a=eval("{'L': [" * 32 + "{'S': 'x'}" + "]}" * 32)), put(a=eval("{'L': [" * 31 + "{'S': 'x'}" + "]}" * 31)))],
    "grammar_of_expressions": [
        (update("SET a = :a SET b = :a", values={":a": n(1)}), update("SET a = :a, b = :a", values={":a": n(1)})),
        (update("SET a"), update("REMOVE a")),
        (update(""), update("REMOVE a")),
        (update("SET a == :a", values={":a": n(1)}), update("SET a = :a", values={":a": n(1)})),
        (update("ADD a b"), update("ADD a :b", values={":b": n(1)})),
        (when("attribute_missing(pk)"), when("attribute_not_exists(pk)")),
        (when("attribute_exists(pk, sk)"), when("attribute_exists(pk) AND attribute_exists(sk)")),
        (when("a = :a AND", a=n(1)), when("a = :a AND b = :a", a=n(1))),
        (when("((a = :a))", a=n(1)), when("(a = :a) OR (b = :a)", a=n(1))),
        (when("a IN (" + ", ".join([":a"] * 101) + ")", a=n(1)), when("a IN (" + ", ".join([":a"] * 100) + ")", a=n(1))),
        (when("a = 1"), when("a = :a", a=n(1))),
        (when("a[:a] = :a", a=n(1)), when("a[0].b[1] = :a", a=n(1))),
        (query(ProjectionExpression="sk,"), query(ProjectionExpression="sk, a.b[2]")),
        (when("NOT a BETWEEN :a OR :b", a=n(1), b=n(2)), when("NOT a BETWEEN :a AND :b", a=n(1), b=n(2))),
    ],
    "reserved_words": [
        (query(FilterExpression="state = :v", values={":v": s("x")}),
         query(FilterExpression="#state = :v", values={":v": s("x")}, ExpressionAttributeNames={"#state": "state"})),
        (update("SET ttl = :a", values={":a": n(1)}), update("SET expiresAt = :a", values={":a": n(1)})),
        (query(ProjectionExpression="Name"), query(ProjectionExpression="Named")),
        (when("a.b.Position = :a", a=n(1)), when("a.b.place = :a", a=n(1))),
        (transaction({"ConditionCheck": {"TableName": "test-things", "Key": key(), "ConditionExpression": "attribute_exists(year)"}}),
         transaction({"ConditionCheck": {"TableName": "test-things", "Key": key(), "ConditionExpression": "attribute_exists(pk)"}})),
    ],
    "undefined_placeholders": [
        (when("a = :b"), when("a = :b", b=n(1))),
        (update("REMOVE #a"), update("REMOVE #a", names={"#a": "a"})),
    ],
    "unused_placeholders": [
        (when("a = :b", b=n(1), c=n(1)), when("a = :b AND a <> :c", b=n(1), c=n(1))),
        (update("REMOVE #a", names={"#a": "a", "#b": "b"}), update("REMOVE #a, #b", names={"#a": "a", "#b": "b"})),
        (db("PutItem", TableName="test-things", Item=key(), ExpressionAttributeValues={":a": n(1)}), put()),
    ],
    "empty_placeholders": [(update("REMOVE a", values={}), update("REMOVE a")), (update("REMOVE a", names={}), update("REMOVE a"))],
    "placeholder_form": [
        (update("REMOVE #" + "a" * 255, names={"#" + "a" * 255: "a"}), update("REMOVE #" + "a" * 254, names={"#" + "a" * 254: "a"})),
    ],
    "expression_size": [
        (when(f"{'a' * 4092} = :a", a=n(1)), when(f"{'a' * 4091} = :a", a=n(1))),
        (when(" AND ".join(["a = :a"] * 301), a=n(1)), when(" AND ".join(["a = :a"] * 299), a=n(1))),
        (when(".".join(["a"] * 33) + " = :a", a=n(1)), when(".".join(["a"] * 32) + " = :a", a=n(1))),
    ],
    "operand_types": [
        (when("begins_with(a, :a)", a=n(1)), when("begins_with(a, :a)", a=s("x"))),
        (when("a < :a", a={"BOOL": True}), when("a <= :a", a=n(1))),
        (when("a BETWEEN :a AND :b", a=n(2), b=n(1)), when("a BETWEEN :a AND :b", a=n(1), b=n(10))),
        (when("a BETWEEN :a AND :b", a=n(2), b=s("x")), when("a BETWEEN :a AND :b", a=s("w"), b=s("x"))),
        (when("a = a"), when("a = b")),
        (when("attribute_exists(:a)", a=s("a")), when("attribute_exists(a)")),
        (when("attribute_type(a, :a)", a=s("TEXT")), when("attribute_type(a, :a)", a=s("SS"))),
        (when("size(:a) > :b", a=n(1), b=n(2)), when("size(a) > :b", b=n(2))),
        (update("ADD a :a", values={":a": s("x")}), update("ADD a :a", values={":a": n(1)})),
        (update("DELETE a :a", values={":a": n(1)}), update("DELETE a :a", values={":a": {"SS": ["x"]}})),
        (update("SET a = a + :a", values={":a": s("x")}), update("SET a = a + :a", values={":a": n(1)})),
        (update("SET a = list_append(a, :a)", values={":a": s("x")}),
         update("SET a = list_append(if_not_exists(a, :a), :a)", values={":a": {"L": [s("x")]}})),
        (update("SET a = if_not_exists(:a, :a)", values={":a": n(1)}), update("SET a = if_not_exists(b, :a)", values={":a": n(1)})),
    ],
    "overlapping_paths": [
        (update("SET a = :a REMOVE a.b", values={":a": n(1)}), update("SET a.c = :a REMOVE a.b", values={":a": n(1)})),
        (update("SET a = :a, #a = :a", values={":a": n(1)}, names={"#a": "a"}),
         update("SET a = :a, #a = :a", values={":a": n(1)}, names={"#a": "b"})),
        (query(ProjectionExpression="sk, sk"), query(ProjectionExpression="sk, pk")),
    ],
    "known_table": [(db("GetItem", TableName="test-nothing", Key=key()), db("GetItem", TableName="test-things", Key=key()))],
    "whole_key": [
        (db("GetItem", TableName="test-things", Key={"pk": s("p")}), db("GetItem", TableName="test-things", Key=key())),
        (db("DeleteItem", TableName="test-things", Key=key() | {"a": s("x")}), db("DeleteItem", TableName="test-things", Key=key())),
        (db("PutItem", TableName="test-things", Item={"sk": s("s")}), put()),
        (db("BatchGetItem", RequestItems={"test-things": {"Keys": [{"sk": s("s")}]}}), reads(1)),
    ],
    "key_types": [
        (db("GetItem", TableName="test-things", Key=key() | {"sk": n(1)}), db("GetItem", TableName="test-things", Key=key())),
        (put(dueAt=s("x")), put(dueAt=n(1))),
        (update("SET dueAt = :a", values={":a": s("x")}), update("SET dueAt = :a", values={":a": n(1)})),
        (query(values={":pk": n(1)}), query()),
    ],
    "empty_key": [
        (db("GetItem", TableName="test-things", Key=key(sk="")), db("GetItem", TableName="test-things", Key=key(sk="-"))),
        (put(listSk=s("")), put(listSk=s("-"), other=s(""))),
        (update("SET listSk = :a", values={":a": s("")}), update("SET another = :a", values={":a": s("")})),
    ],
    "key_length": [
        (db("GetItem", TableName="test-things", Key=key(pk="p" * 2049)), db("GetItem", TableName="test-things", Key=key(pk="p" * 2048))),
        (db("GetItem", TableName="test-things", Key=key(sk="é" * 513)), db("GetItem", TableName="test-things", Key=key(sk="é" * 512))),
        (put(listSk=s("x" * 1025)), put(listSk=s("x" * 1024))),
    ],
    "changed_key": [(update("SET sk = :a", values={":a": s("x")}), update("SET another = :a", values={":a": s("x")}))],
    "key_condition": [
        (query("sk = :pk"), query("pk = :pk")),
        (query("pk > :pk"), query("pk = :pk")),
        (query("pk = :pk AND a = :a", {":a": s("x")}), query("pk = :pk AND sk = :a", {":a": s("x")})),
        (query("pk = :pk AND sk > :a AND sk < :b", {":a": s("x"), ":b": s("y")}),
         query("pk = :pk AND sk BETWEEN :a AND :b", {":a": s("x"), ":b": s("y")})),
        (query("pk = :pk OR sk = :pk"), query("pk = :pk AND sk = :pk")),
        (query("pk = :pk AND sk <> :a", {":a": s("x")}), query("pk = :pk AND begins_with(sk, :a)", {":a": s("x")})),
        (listed(condition="pk = :pk AND sk = :a", values={":a": s("x")}), listed(condition="pk = :pk AND listSk = :a", values={":a": s("x")})),
        (db("Query", TableName="test-things"), query()),
    ],
    "filtered_key": [
        (query(FilterExpression="sk > :a", values={":a": s("x")}), query(FilterExpression="a > :a", values={":a": s("x")})),
        (listed(FilterExpression="listSk > :a", values={":a": s("x")}), listed(FilterExpression="sk > :a", values={":a": s("x")})),
    ],
    "start_key": [
        (query(ExclusiveStartKey={"pk": s("p")}), query(ExclusiveStartKey=key())),
        (due(ExclusiveStartKey=key()), due(ExclusiveStartKey=key() | {"dueShard": s("0"), "dueAt": n(1)})),
    ],
    "known_index": [(query(IndexName="lost"), query(IndexName="list"))],
    "consistent_read": [(due(ConsistentRead=True), due(ConsistentRead=False)), (listed(ConsistentRead=True), query(ConsistentRead=True))],
    "projected_attributes": [
        (listed(FilterExpression="kind = :a", values={":a": s("x")}), listed(FilterExpression="direction = :a", values={":a": s("x")})),
        (due(ProjectionExpression="pk, direction"), due(ProjectionExpression="pk, sk, dueAt")),
        (due(FilterExpression="#k = :a", values={":a": s("x")}, ExpressionAttributeNames={"#k": "kind"}),
         due(FilterExpression="#k = :a", values={":a": s("x")}, ExpressionAttributeNames={"#k": "sk"})),
    ],
    "selected_attributes": [
        (due(Select="ALL_ATTRIBUTES"), due(Select="ALL_PROJECTED_ATTRIBUTES")),
        (query(Select="COUNT", ProjectionExpression="sk"), query(Select="SPECIFIC_ATTRIBUTES", ProjectionExpression="sk")),
        (query(Select="ALL_PROJECTED_ATTRIBUTES"), query(Select="ALL_ATTRIBUTES")),
    ],
    "batch_length": [(split_writes(13, 13), split_writes(13, 12))],
    "one_item_once": [
        (transaction(put_action("1"), {"Delete": {"TableName": "test-things", "Key": key(sk="1")}}),
         transaction(put_action("1"), {"Delete": {"TableName": "test-things", "Key": key(sk="2")}})),
        (writes(2, sk=lambda _: "x"), writes(2)),
        (reads(2, sk=lambda _: "x"), reads(2)),
    ],
    "item_size": [
        (put(a=s("x" * 410_000)), put(a=s("x" * 409_000))),
        (update("SET a = :a", values={":a": s("x" * 410_000)}), update("SET a = :a", values={":a": s("x" * 409_000)})),
        (transaction(put_action("1", a={"M": {"b": s("x" * 410_000)}})), transaction(put_action("1", a={"M": {"b": s("x" * 409_000)}}))),
    ],
    "transaction_size": [
        (transaction(*(put_action(str(at), a=s("x" * 400_000)) for at in range(11))),
         transaction(*(put_action(str(at), a=s("x" * 400_000)) for at in range(10)))),
    ],
    "one_action": [
        (transaction(put_action("1") | {"Delete": {"TableName": "test-things", "Key": key(sk="2")}}), transaction(put_action("1"))),
        (db("BatchWriteItem", RequestItems={"test-things": [{}]}), writes(1)),
    ],
    "return_values": [
        (db("PutItem", TableName="test-things", Item=key(), ReturnValues="ALL_NEW"),
         db("PutItem", TableName="test-things", Item=key(), ReturnValues="ALL_OLD")),
        (db("DeleteItem", TableName="test-things", Key=key(), ReturnValues="UPDATED_OLD"), update("REMOVE a", ReturnValues="UPDATED_OLD")),
    ],
    "batch_entries": [
        (send(*(entry(str(at)) for at in range(11))), send(*(entry(str(at)) for at in range(10)))),
        (send(), send(entry())),
        (send(entry("a"), entry("a")), send(entry("a"), entry("b"))),
        (send(entry("a.b")), send(entry("a_b"))),
    ],
    "message_size": [
        (message(MessageBody="x" * 1_048_577), message(MessageBody="x" * 1_048_576)),
        (send(entry("a", "x" * 600_000), entry("b", "x" * 600_000)), send(entry("a", "x" * 500_000), entry("b", "x" * 500_000))),
    ],
    "message_characters": [(message(MessageBody=""), message(MessageBody=" ")), (send(entry(body="\x00")), send(entry(body="\t\U0001f600")))],
    "delay": [(send(entry(DelaySeconds=901)), send(entry(DelaySeconds=900))), (message(DelaySeconds=-1), message(DelaySeconds=0))],
    "fifo": [
        (send(entry(MessageDeduplicationId="x")), send(entry(MessageGroupId="x"))),
        (message(queue=f"{QUEUE}.fifo"), message(queue=f"{QUEUE}.fifo", MessageGroupId="x")),
        (message(queue=f"{QUEUE}.fifo", MessageGroupId="x", DelaySeconds=1), message(queue=f"{QUEUE}.fifo", MessageGroupId="x")),
        (send(entry(MessageGroupId="x" * 129)), send(entry(MessageGroupId="x" * 128))),
    ],
    "receipt": [
        (receive(VisibilityTimeout=43_201), receive(VisibilityTimeout=43_200)),
        (receive(MaxNumberOfMessages=11), receive(MaxNumberOfMessages=10)),
        (receive(WaitTimeSeconds=21), receive(WaitTimeSeconds=20)),
    ],
    "bucket_name": [(object_put("/Test/a"), object_put("/test-media/a"))],
    "object_key_length": [(object_put(f"/test-media/{'a' * 1025}"), object_put(f"/test-media/{'a' * 1024}"))],
    "checksum": [
        (object_put(headers={"x-amz-checksum-sha256": sha256(b"other")}), object_put(headers={"x-amz-checksum-sha256": sha256(b"bytes")})),
        (object_put(headers={"x-amz-checksum-crc32": "AAAAAA=="}), object_put(headers={"x-amz-checksum-crc32": crc32(b"bytes")})),
        (object_put(headers={"content-md5": "AAAAAA=="}), object_put()),
        (object_put(headers={"x-amz-content-sha256": "0" * 64}),
         object_put(headers={"x-amz-content-sha256": hashlib.sha256(b"bytes").hexdigest()})),
    ],
    "length": [
        (s3("PUT", "/test-media/a", {"transfer-encoding": "chunked"}, b"5\r\nbytes\r\n0\r\n\r\n"), object_put()),
    ],
    "metadata_size": [(object_put(headers={"x-amz-meta-a": "x" * 2048}), object_put(headers={"x-amz-meta-a": "x" * 2047}))],
    "presigned_life": [
        (s3("GET", f"/test-media/a?{SIGNED}&X-Amz-Expires=604801"), s3("GET", f"/test-media/a?{SIGNED}&X-Amz-Expires=604800")),
    ],
    "refused": [
        (call("dynamodb", "GetItem", {"TableName": "test-things", "Key": key()}, **refusal("ValidationException")),
         call("dynamodb", "GetItem", {"TableName": "test-things", "Key": key()}, **refusal("ThrottlingException"))),
    ],
    "error_code": [
        (call("dynamodb", "GetItem", {"TableName": "test-things", "Key": key()}, **refusal("ConditionalCheckFailedException")),
         call("dynamodb", "PutItem", {"TableName": "test-things", "Item": key()}, **refusal("ConditionalCheckFailedException"))),
        (call("sqs", "SendMessage", {"QueueUrl": QUEUE, "MessageBody": "x"}, status=500, answer={}),
         call("sqs", "SendMessage", {"QueueUrl": QUEUE, "MessageBody": "x"}, status=500, answer={"__type": "InternalFailure"})),
    ],
    "cancellation_reasons": [
        tuple(
            call("dynamodb", "TransactWriteItems", {"TransactItems": [put_action("1"), put_action("2")]},
                 **refusal("TransactionCanceledException", CancellationReasons=[{"Code": "None"}] * reasons))
            for reasons in (1, 2)
        ),
    ],
    "batch_results": [
        (send(entry("a"), entry("b"), answer=accepted([entry("a")])), send(entry("a"), entry("b"))),
    ],
    "s3_response": [
        (object_put(answer_headers={}), object_put()),
        (s3("GET", "/test-media?list-type=2", answer=b"<broken"), s3("GET", "/test-media?list-type=2", answer=b"<ListBucketResult/>")),
    ],
}

CASES = [Case(rule, number, *pair) for rule, pairs in PAIRS.items() for number, pair in enumerate(pairs)]
