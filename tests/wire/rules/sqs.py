"""SQS: batches, sizes, delays, characters, and the parameters that only FIFO queues have."""

import re

MOST_ENTRIES = 10
# AWS raised the limit of a message and of a batch from 256 KiB to 1 MiB in August 2025.
LARGEST = 1024 * 1024
LONGEST_DELAY = 900
LONGEST_VISIBILITY = 43_200
LONGEST_WAIT = 20
ENTRY_ID = re.compile(r"[A-Za-z0-9_-]{1,80}")
GROUP = re.compile(r"[A-Za-z0-9!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~]{1,128}")
# What XML permits, without surrogates.
CHARACTERS = re.compile("[\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*")


def batch_entries(call, _tables):
    entries = _entries(call)
    if entries is None:
        return
    if not 1 <= len(entries) <= MOST_ENTRIES:
        yield f"the batch has {len(entries)} entries, 1 to {MOST_ENTRIES}"
    ids = [entry.get("Id", "") for entry in entries]
    for one in ids:
        if not ENTRY_ID.fullmatch(one):
            yield f"the id {one!r} of an entry must have 1 to 80 letters, digits, - or _"
    if len(set(ids)) != len(ids):
        yield "the ids of the entries are not distinct"


def message_size(call, _tables):
    sizes = [_size(message) for message in _messages(call)]
    if sum(sizes) > LARGEST:
        yield f"the messages have {sum(sizes)} bytes in all, at most {LARGEST}"


def message_characters(call, _tables):
    for message in _messages(call):
        body = message.get("MessageBody", "")
        if not body:
            yield "a message is empty"
        elif not CHARACTERS.fullmatch(body):
            yield "a message has a character that SQS does not permit"
        if len(message.get("MessageAttributes") or {}) > 10:
            yield "a message has more than 10 attributes"


def delay(call, _tables):
    for message in _messages(call):
        if not 0 <= (seconds := message.get("DelaySeconds", 0)) <= LONGEST_DELAY:
            yield f"a message has a delay of {seconds} seconds, 0 to {LONGEST_DELAY}"


def fifo(call, _tables):
    """Standard queues take a group, for fair shares, but no deduplication. FIFO queues need a group and take no delay."""
    is_fifo = _queue(call).endswith(".fifo")
    for message in _messages(call):
        group = message.get("MessageGroupId")
        if not is_fifo and "MessageDeduplicationId" in message:
            yield "MessageDeduplicationId is not valid for a standard queue"
        if is_fifo and not group:
            yield "MessageGroupId is required for a FIFO queue"
        if is_fifo and message.get("DelaySeconds"):
            yield "a message of a FIFO queue has no delay of its own"
        for field in ("MessageGroupId", "MessageDeduplicationId"):
            if field in message and not GROUP.fullmatch(message[field]):
                yield f"{field} must have 1 to 128 letters, digits or punctuation marks"


def receipt(call, _tables):
    """Time-outs, waits and numbers of those that receive messages."""
    for entry in [call.parameters, *(_entries(call) or [])] if call.service == "sqs" else []:
        seconds = entry.get("VisibilityTimeout")
        if seconds is not None and not 0 <= seconds <= LONGEST_VISIBILITY:
            yield f"VisibilityTimeout is {seconds} seconds, 0 to {LONGEST_VISIBILITY}"
    if call.service == "sqs" and call.operation == "ReceiveMessage":
        if not 1 <= (number := call.parameters.get("MaxNumberOfMessages", 1)) <= 10:
            yield f"MaxNumberOfMessages is {number}, 1 to 10"
        if not 0 <= (seconds := call.parameters.get("WaitTimeSeconds", 0)) <= LONGEST_WAIT:
            yield f"WaitTimeSeconds is {seconds}, 0 to {LONGEST_WAIT}"


RULES = [batch_entries, message_size, message_characters, delay, fifo, receipt]


def _queue(call):
    return call.parameters.get("QueueUrl", "").rpartition("/")[2]


def _entries(call):
    """The entries of a batch; `None` if the call is no batch."""
    return call.parameters.get("Entries") or [] if call.service == "sqs" and call.operation.endswith("Batch") else None


def _messages(call):
    if call.service != "sqs":
        return []
    if call.operation == "SendMessage":
        return [call.parameters]
    return _entries(call) or [] if call.operation == "SendMessageBatch" else []


def _size(message):
    attributes = (message.get("MessageAttributes") or {}).items()
    inside = sum(len(name.encode()) + sum(len(str(one).encode()) for one in value.values()) for name, value in attributes)
    return len(message.get("MessageBody", "").encode()) + inside
