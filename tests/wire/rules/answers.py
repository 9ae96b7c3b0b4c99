"""Responses: the emulator must refuse and answer as AWS does."""

import botocore.parsers

# The codes with which AWS refuses a request because of its form or content.
REFUSALS = {
    "ValidationException", "ValidationError", "SerializationException", "InvalidParameterValue", "InvalidParameterValueException",
    "MissingParameter", "InvalidAttributeValue", "InvalidMessageContents", "UnknownOperationException", "UnsupportedOperation",
    "InvalidBatchEntryId", "BatchEntryIdsNotDistinct", "TooManyEntriesInBatchRequest", "EmptyBatchRequest", "BatchRequestTooLong",
    "AWS.SimpleQueueService.UnsupportedOperation", "AWS.SimpleQueueService.BatchRequestTooLong",
}
# Codes of all operations of a service, which the models do not list.
COMMON = REFUSALS | {
    "AccessDenied", "AccessDeniedException", "ThrottlingException", "Throttling", "InternalFailure", "InternalServerError",
    "ServiceUnavailable", "ExpiredTokenException", "InvalidSignatureException", "UnrecognizedClientException",
    "MissingAuthenticationToken", "IncompleteSignature", "RequestExpired", "InvalidClientTokenId", "RequestThrottled",
}


def refused(call, _tables):
    """The request has a fault that the emulator finds by itself."""
    if call.error in REFUSALS:
        yield f"the emulator refused it: {call.error}: {call.answer.get('message') or call.answer.get('Message')}"


def error_code(call, _tables):
    if call.exchange.succeeded or call.service == "s3":
        return
    shapes = {shape.metadata.get("error", {}).get("code", shape.name) for shape in call.model.error_shapes}
    known = {shape.name for shape in call.model.error_shapes} | shapes | COMMON
    if call.error is None or call.error not in known:
        yield f"the response {call.exchange.status} has the code {call.error}, which {call.operation} does not have"


def cancellation_reasons(call, _tables):
    """A cancelled transaction has a reason for each of its items, in their order."""
    if call.error == "TransactionCanceledException":
        reasons, items = call.answer.get("CancellationReasons") or [], call.parameters.get("TransactItems", [])
        if len(reasons) != len(items):
            yield f"the transaction has {len(items)} items and {len(reasons)} reasons for its cancellation"


def batch_results(call, _tables):
    """SQS answers each entry of a batch."""
    if call.service != "sqs" or not call.operation.endswith("Batch") or not call.exchange.succeeded or not isinstance(call.answer, dict):
        return
    asked = sorted(entry.get("Id", "") for entry in call.parameters.get("Entries") or [])
    answered = sorted(
        entry.get("Id", "") for field in ("Successful", "Failed") for entry in call.answer.get(field) or []
    )
    if asked != answered:
        yield f"the entries are {', '.join(asked)}, but the response has {', '.join(answered) or 'none'}"


# The headers that S3 sets on each response of an operation.
S3_HEADERS = {
    "PutObject": {"etag"},
    "GetObject": {"etag", "last-modified", "content-length"},
    "HeadObject": {"etag", "last-modified", "content-length"},
}


def s3_response(call, _tables):
    if call.service != "s3" or not call.exchange.succeeded:
        return
    for name in sorted(S3_HEADERS.get(call.operation, set()) - set(call.exchange.answer_headers)):
        yield f"the response lacks the header {name}"
    if call.exchange.answer and call.model.output_shape is not None and not call.model.has_streaming_output:
        parser = botocore.parsers.create_parser("rest-xml")
        response = {"status_code": call.exchange.status, "headers": call.exchange.answer_headers, "body": call.exchange.answer}
        try:
            parser.parse(response, call.model.output_shape)
        except botocore.parsers.ResponseParserError as error:
            yield f"the response cannot be read: {error}"


RULES = [refused, error_code, cancellation_reasons, batch_results, s3_response]
