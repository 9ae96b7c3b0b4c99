"""What must hold for the template, beyond what linters know. Each invariant yields a sentence per violation."""

import itertools
import json
import re

from expand import Stack

INVARIANTS = []


def invariant(check):
    INVARIANTS.append(check)
    return check


# --- Names and numbers that the code, the console and the local stack rely on --------------------------------------

# function -> (environment beyond the common one, tables it may touch)
COMMON_ENVIRONMENT = {"STACK", "LOG_LEVEL", "AWS_LAMBDA_HTTP_IGNORE_STAGE_IN_PATH"}
FUNCTIONS = {
    "conversations": (
        {"FIRST_DUE_SECONDS"},
        {"api-keys", "limits", "workspaces", "contacts", "conversations", "messages", "secrets"},
    ),
    "contacts": (set(), {"api-keys", "limits", "workspaces", "contacts", "secrets"}),
    "files": ({"MEDIA_BUCKET"}, {"api-keys", "limits", "media"}),
    "messages": (
        {"FIRST_DUE_SECONDS", "MEDIA_BUCKET"},
        {"api-keys", "limits", "conversations", "messages", "media"},
    ),
    "attributes": (set(), {"api-keys", "limits", "workspaces"}),
    "users": (set(), {"api-keys", "limits", "workspaces"}),
    "leads": ({"CAPTCHA_URL", "FIRST_DUE_SECONDS"}, {"workspaces", "leads", "secrets"}),
    "event-relay": (
        {"DELIVERY_QUEUE_URL", "SEND_QUEUE_URL", "LEAD_QUEUE_URL", "FIRST_DUE_SECONDS", "MEDIA_BUCKET"},
        {"contacts", "conversations", "messages", "media", "leads", "workspaces", "deliveries"},
    ),
    "message-sender": (
        {
            "SEND_QUEUE_URL",
            "SEND_RETRY_SCHEDULE",
            "SEND_THROTTLE_SCHEDULE",
            "SEND_TIMEOUT_SECONDS",
            "SEND_LEASE_SECONDS",
            "GRAPH_URL",
            "GRAPH_VERSION",
            "MEDIA_BUCKET",
        },
        {"workspaces", "contacts", "conversations", "messages", "secrets"},
    ),
    "lead-sender": (
        {
            "LEAD_QUEUE_URL",
            "SEND_RETRY_SCHEDULE",
            "SEND_THROTTLE_SCHEDULE",
            "SEND_TIMEOUT_SECONDS",
            "SEND_LEASE_SECONDS",
            "GRAPH_URL",
            "GRAPH_VERSION",
        },
        {"workspaces", "contacts", "conversations", "messages", "leads", "secrets"},
    ),
    "webhook-delivery": (
        {
            "DELIVERY_QUEUE_URL",
            "SLOW_DELIVERY_QUEUE_URL",
            "FIRST_DUE_SECONDS",
            "RETRY_SCHEDULE",
            "ATTEMPT_TIMEOUT_SECONDS",
            "LEASE_SECONDS",
            "TRUSTED_RECEIVERS",
            "TRUSTED_CA_PEM",
        },
        {"workspaces", "deliveries", "secrets"},
    ),
    "sweeper": (
        {"DELIVERY_QUEUE_URL", "SLOW_DELIVERY_QUEUE_URL", "SEND_QUEUE_URL", "LEAD_QUEUE_URL"},
        {"deliveries", "messages", "leads"},
    ),
}

# (function, table) -> the keys of the partitions it may reach: of secrets for all, of everything for the public function,
# of settings and leads for who writes to leads
CURSOR_KEYS = {"00000000-0000-0000-0000-000000000000#X"}
LEADING_KEYS = {
    ("contacts", "secrets"): CURSOR_KEYS,
    ("conversations", "secrets"): CURSOR_KEYS,
    ("leads", "secrets"): {"*#K"},
    ("leads", "workspaces"): {"*#K", "*#L"},
    ("leads", "leads"): {"*#L#*", "*#D#*", "*#K#*", "*#N#*", "*#Q#*"},
    ("lead-sender", "secrets"): {"*#L#*"},
    ("lead-sender", "workspaces"): {"*#K", "*#L", "*#M", "*#W"},
    ("lead-sender", "leads"): {"*#L#*", "*#O"},
    ("message-sender", "secrets"): {"*#L#*"},
    ("webhook-delivery", "secrets"): {"*#H#*"},
}

# table -> (attribute of time to live, stream view, {index: (keys, projection)})
TABLES = {
    "workspaces": (None, None, {}),
    "api-keys": ("expiresAt", None, {"byWorkspace": (["workspaceId S", "createdAt S"], "ALL")}),
    "limits": ("expiresAt", None, {}),
    "contacts": (
        None,
        "NEW_AND_OLD_IMAGES",
        {"list": (["listPk S", "listSk S"], "KEYS_ONLY"), "owner": (["ownerPk S", "listSk S"], "KEYS_ONLY")},
    ),
    "conversations": ("expiresAt", "NEW_AND_OLD_IMAGES", {"byStatus": (["statusPk S", "sk S"], "ALL")}),
    "messages": ("expiresAt", "NEW_AND_OLD_IMAGES", {"due": (["dueShard S", "dueAt N"], "KEYS_ONLY")}),
    "media": ("expiresAt", "OLD_IMAGE", {}),
    "leads": (
        "expiresAt",
        "NEW_AND_OLD_IMAGES",
        {"due": (["dueShard S", "dueAt N"], "KEYS_ONLY"), "byTime": (["timePk S", "timeSk S"], "INCLUDE state")},
    ),
    "deliveries": (
        "expiresAt",
        None,
        {
            "due": (["dueShard S", "dueAt N"], "KEYS_ONLY"),
            "byEndpoint": (["endpointPk S", "endpointSk S"], "KEYS_ONLY"),
            "held": (["heldPk S", "createdAt N"], "KEYS_ONLY"),
        },
    ),
    "secrets": (None, None, {}),
}

WORKSPACE = "/service/api/v1/workspaces/{workspaceId}"
ROUTES = {
    "IntegrationsApi": {
        ("post", f"{WORKSPACE}/conversations"): "conversations",
        ("get", f"{WORKSPACE}/conversations"): "conversations",
        ("get", f"{WORKSPACE}/conversations/{{conversationId}}"): "conversations",
        ("patch", f"{WORKSPACE}/conversations/{{conversationId}}"): "conversations",
        ("get", f"{WORKSPACE}/contacts"): "contacts",
        ("get", f"{WORKSPACE}/contacts/{{contactId}}"): "contacts",
        ("patch", f"{WORKSPACE}/contacts/{{contactId}}"): "contacts",
        ("get", f"{WORKSPACE}/settings/attributes"): "attributes",
        ("get", f"{WORKSPACE}/users/{{userId}}"): "users",
        ("post", f"{WORKSPACE}/files"): "files",
        ("post", f"{WORKSPACE}/messages"): "messages",
    },
    "CaptureApi": {
        ("get", "/health"): None,
        ("post", "/api/v1/leadscout/campaign-leads"): "leads",
        ("options", "/api/v1/leadscout/campaign-leads"): "leads",
    },
}

# What the gateway answers by itself: response type -> (status, code, title) and (status, type, title).
NOT_FOUND = (404, "SERVICE_CORE_0404", "Not Found"), (404, "INVALID_REQUEST", "Not Found")
BAD_REQUEST = (400, "SERVICE_CORE_0400", "Bad Request"), (400, "INVALID_REQUEST", "Bad Request")
FORBIDDEN = (403, "SERVICE_CORE_0301", "Forbidden"), (403, "REJECTED", "Forbidden")
TOO_LARGE = (413, "SERVICE_CORE_0413", "Payload Too Large"), (400, "INVALID_REQUEST", "Bad Request")
NOT_JSON = (415, "SERVICE_CORE_0415", "Unsupported Media Type"), (400, "INVALID_REQUEST", "Bad Request")
TOO_MANY = (429, "SERVICE_RATE_LIMIT_0001", "Too Many Requests"), (429, "RATE_LIMITED", "Too Many Requests")
BLOCKED = FORBIDDEN[0], TOO_MANY[1]  # the web ACL of the capture API blocks too many requests, and nothing else
FAILED = (500, "SERVICE_CORE_0500", "Internal Server Error"), (500, "INTERNAL_ERROR", "Internal Server Error")
TIMED_OUT = (503, "SERVICE_CORE_0503", "Service Unavailable"), (500, "INTERNAL_ERROR", "Internal Server Error")
GATEWAY_RESPONSES = {
    "ACCESS_DENIED": FORBIDDEN,
    "API_CONFIGURATION_ERROR": FAILED,
    "AUTHORIZER_CONFIGURATION_ERROR": FAILED,
    "AUTHORIZER_FAILURE": FAILED,
    "BAD_REQUEST_BODY": BAD_REQUEST,
    "BAD_REQUEST_PARAMETERS": BAD_REQUEST,
    "DEFAULT_4XX": BAD_REQUEST,
    "DEFAULT_5XX": FAILED,
    "EXPIRED_TOKEN": FORBIDDEN,
    "INTEGRATION_FAILURE": FAILED,
    "INTEGRATION_TIMEOUT": TIMED_OUT,
    "INVALID_API_KEY": FORBIDDEN,
    "INVALID_SIGNATURE": FORBIDDEN,
    "MISSING_AUTHENTICATION_TOKEN": NOT_FOUND,
    "QUOTA_EXCEEDED": TOO_MANY,
    "REQUEST_TOO_LARGE": TOO_LARGE,
    "RESOURCE_NOT_FOUND": NOT_FOUND,
    "THROTTLED": TOO_MANY,
    "UNAUTHORIZED": FORBIDDEN,
    "UNSUPPORTED_MEDIA_TYPE": NOT_JSON,
    "WAF_FILTERED": BLOCKED,
}

OUTPUTS = {
    "ApiUrl",
    "CaptureUrl",
    "DeliveryQueueUrl",
    "DeliveryDlqUrl",
    "SlowDeliveryQueueUrl",
    "SlowDeliveryDlqUrl",
    "SendQueueUrl",
    "SendDlqUrl",
    "LeadQueueUrl",
    "LeadDlqUrl",
    "MediaBucketName",
    "FailureBucketName",
}

# table -> which of its stream's records reach the relay
RELAYED = {
    "contacts": [{"dynamodb": {"Keys": {"sk": {"S": ["C"]}}}}],
    "conversations": [{"dynamodb": {"Keys": {"sk": {"S": ["C"]}}}}],
    "messages": [
        {"dynamodb": {"Keys": {"sk": {"S": [{"prefix": "M#"}]}}}},
        {"eventName": ["INSERT"], "dynamodb": {"Keys": {"sk": {"S": ["P"]}}}},
    ],
    "media": [{"eventName": ["REMOVE"], "dynamodb": {"Keys": {"sk": {"S": ["M"]}}}}],
    "leads": [{"eventName": ["INSERT", "MODIFY"], "dynamodb": {"Keys": {"sk": {"S": ["L"]}}}}],
}


# --- Queues and streams --------------------------------------------------------------------------------------------


@invariant
def visibility_covers_six_time_outs(template):
    stack = Stack(template)
    for queue, function in _queue_mappings(stack):
        name = _name_of(function)
        longest = max(stack.largest(raw) for raw in _raw_timeouts(template, stack, name))
        visibility = stack.resources[queue]["Properties"].get("VisibilityTimeout", 30)
        if visibility < 6 * longest:
            yield f"{queue} hides a message for {visibility} s, but {name} may take {longest} s"


@invariant
def every_queue_has_a_dead_letter_queue_that_keeps_longer(template):
    queues = Stack(template).of_type("AWS::SQS::Queue")
    dead_letter_queues = set()
    for name, queue in queues.items():
        target = (queue.get("RedrivePolicy") or {}).get("deadLetterTargetArn")
        if target is None:
            continue
        dead_letter_queues.add(target["Fn::GetAtt"][0])
        kept = queues[target["Fn::GetAtt"][0]].get("MessageRetentionPeriod", 345600)
        if kept <= queue.get("MessageRetentionPeriod", 345600):
            yield f"the dead-letter queue of {name} forgets before the queue does"
    for name in set(queues) - dead_letter_queues:
        if "RedrivePolicy" not in queues[name]:
            yield f"{name} has no dead-letter queue"


@invariant
def queues_are_encrypted(template):
    for name, queue in Stack(template).of_type("AWS::SQS::Queue").items():
        if queue.get("SqsManagedSseEnabled") is not True and "KmsMasterKeyId" not in queue:
            yield f"{name} is not encrypted"


@invariant
def batches_fail_item_by_item(template):
    for name, mapping in Stack(template).of_type("AWS::Lambda::EventSourceMapping").items():
        if mapping.get("FunctionResponseTypes") != ["ReportBatchItemFailures"]:
            yield f"{name} does not report partial failures"


@invariant
def a_record_that_fails_for_good_goes_to_the_failure_bucket(template):
    stack = Stack(template)
    for name, mapping in _stream_mappings(stack):
        target = ((mapping.get("DestinationConfig") or {}).get("OnFailure") or {}).get("Destination") or {}
        bucket = (target.get("Fn::GetAtt") or [None])[0]
        if bucket not in stack.of_type("AWS::S3::Bucket"):
            yield f"{name} loses records: no bucket on failure"
        if mapping.get("BisectBatchOnFunctionError") is not True:
            yield f"{name} does not bisect: one bad record fails its whole batch"
        if not 1 <= mapping.get("MaximumRetryAttempts", -1) <= 1000:
            yield f"{name} has no bound of its retries"
        if not 60 <= mapping.get("MaximumRecordAgeInSeconds", -1) <= 86400:
            yield f"{name} has no bound of a record's age"


@invariant
def helper_rows_never_wake_the_relay(template):
    stack = Stack(template)
    relayed = set()
    for name, mapping in _stream_mappings(stack):
        table = stack.resources[mapping["EventSourceArn"]["Fn::GetAtt"][0]]["Properties"]["TableName"].removeprefix("messaging-")
        patterns = [json.loads(entry["Pattern"]) for entry in (mapping.get("FilterCriteria") or {}).get("Filters", [])]
        relayed.add(table)
        if patterns != RELAYED.get(table):
            yield f"{name} lets other rows than the entity's through"
    if relayed != set(RELAYED):
        yield f"the relay follows {sorted(relayed)}"


@invariant
def leases_cover_the_function_and_the_function_a_call(template):
    for names, least in (
        (("AttemptTimeoutSeconds", "DeliveryTimeoutSeconds", "LeaseSeconds"), 40),
        (("SendTimeoutSeconds", "SenderTimeoutSeconds", "SendLeaseSeconds"), 20),
    ):
        parameters = template["Parameters"]
        if any("AllowedValues" not in parameters[name] for name in names):
            yield f"one of {names} is not one of a set, so rules cannot compare it"
            continue
        accepted = 0
        for values in itertools.product(*(parameters[name]["AllowedValues"] for name in names)):
            call, function, lease = map(int, values)
            stack = _with_values(template, dict(zip(names, map(str, values))))
            if stack.refused_by():
                continue
            accepted += 1
            if lease < function:
                yield f"{names[2]} {lease} is accepted with {names[1]} {function}"
            if call >= function:
                yield f"{names[0]} {call} is accepted with {names[1]} {function}"
        if accepted < least:
            yield f"only {accepted} combinations of {names} are accepted"
    if Stack(template).refused_by():
        yield "the defaults are refused"


@invariant
def the_sweeper_runs_every_minute_and_is_not_repeated(template):
    stack = Stack(template)
    rules = [rule for rule in stack.of_type("AWS::Events::Rule").values() if rule["ScheduleExpression"] == "rate(1 minute)"]
    targets = [target["Arn"]["Fn::GetAtt"][0] for rule in rules for target in rule["Targets"]]
    if [_name_of(stack.resources[target]) for target in targets] != ["sweeper"]:
        yield "the sweeper is not called each minute"
    attempts = [
        config.get("MaximumRetryAttempts")
        for config in stack.of_type("AWS::Lambda::EventInvokeConfig").values()
        if config["FunctionName"]["Ref"] in targets
    ]
    if attempts != [0]:
        yield "a failed run of the sweeper is repeated, though the next minute does the same"


# --- Rights --------------------------------------------------------------------------------------------------------


@invariant
def no_role_has_a_wildcard(template):
    stack = _with_everything(template)
    for name, role in stack.of_type("AWS::IAM::Role").items():
        if role.get("ManagedPolicyArns"):
            yield f"{name} has managed policies, which are wide"
        for statement in _statements(role):
            for action in _list(statement["Action"]):
                if "*" in action or action.split(":")[1] in ("Scan", "PartiQLSelect"):
                    yield f"{name} may {action}"
            for resource in _list(statement["Resource"]):
                if isinstance(resource, str) and not re.fullmatch(r"(arn:|\$\{)[^*]*(/\*)?", resource):
                    yield f"{name} reaches {resource}"
                if resource == "*" or "NotResource" in statement or "NotAction" in statement:
                    yield f"{name} reaches everything"


@invariant
def each_function_has_a_role_of_its_own(template):
    stack = Stack(template)
    roles = [json.dumps(function["Role"]) for function in stack.of_type("AWS::Lambda::Function").values()]
    if len(set(roles)) != len(roles):
        yield "two functions share a role"
    trusts = {json.dumps(role["AssumeRolePolicyDocument"]) for role in stack.of_type("AWS::IAM::Role").values()}
    if any("lambda.amazonaws.com" not in trust or '"AWS"' in trust for trust in trusts):
        yield "another principal than Lambda may take a role"


@invariant
def functions_touch_only_their_own_tables(template):
    stack = _with_everything(template)
    tables = {name: table["TableName"].removeprefix("messaging-") for name, table in stack.of_type("AWS::DynamoDB::Table").items()}
    for function in stack.of_type("AWS::Lambda::Function").values():
        name = function["FunctionName"].removeprefix("messaging-")
        role = stack.resources[function["Role"]["Fn::GetAtt"][0]]["Properties"]
        touched = {
            tables[owner]
            for statement in _statements(role)
            for resource in _list(statement["Resource"])
            if (owner := _owner(resource)) in tables
        }
        allowed = FUNCTIONS.get(name, (set(), set()))[1]
        if touched != allowed:
            yield f"{name} touches {sorted(touched)}, not {sorted(allowed)}"


@invariant
def secrets_and_settings_are_reached_by_their_keys_only(template):
    stack = _with_everything(template)
    tables = {name: table["TableName"].removeprefix("messaging-") for name, table in stack.of_type("AWS::DynamoDB::Table").items()}
    found = {}
    for function in stack.of_type("AWS::Lambda::Function").values():
        name = function["FunctionName"].removeprefix("messaging-")
        for statement in _statements(stack.resources[function["Role"]["Fn::GetAtt"][0]]["Properties"]):
            keys = {
                key
                for operator in ("ForAllValues:StringEquals", "ForAllValues:StringLike")
                for key in statement.get("Condition", {}).get(operator, {}).get("dynamodb:LeadingKeys", [])
            }
            for resource in _list(statement["Resource"]):
                place = (name, tables.get(_owner(resource)))
                if place in LEADING_KEYS or place[1] == "secrets":
                    found.setdefault(place, set()).update(keys or {"any"})
    for place in sorted(set(found) | set(LEADING_KEYS)):
        if found.get(place) != LEADING_KEYS.get(place):
            yield f"{place[0]} reaches {found.get(place)} of {place[1]}, not {LEADING_KEYS.get(place)}"


# --- What is kept --------------------------------------------------------------------------------------------------


@invariant
def production_data_outlives_the_stack(template):
    production = Stack(template, Stage="production")
    development = Stack(template, Stage="development")
    for kind in ("AWS::DynamoDB::Table", "AWS::S3::Bucket"):
        for name in production.of_type(kind):
            for policy in ("DeletionPolicy", "UpdateReplacePolicy"):
                if production.resources[name].get(policy) != "Retain":
                    yield f"{name} has no {policy} Retain in production"
                if development.resources[name].get(policy) != "Delete":
                    yield f"{name} stays behind in development ({policy})"
    for name, table in production.of_type("AWS::DynamoDB::Table").items():
        if table.get("DeletionProtectionEnabled") is not True:
            yield f"{name} can be deleted in production"
        if table.get("PointInTimeRecoverySpecification") != {"PointInTimeRecoveryEnabled": True}:
            yield f"{name} has no point-in-time recovery"


@invariant
def tables_have_the_agreed_shape(template):
    found = {}
    for name, table in Stack(template).of_type("AWS::DynamoDB::Table").items():
        kinds = {attribute["AttributeName"]: attribute["AttributeType"] for attribute in table["AttributeDefinitions"]}

        def keys(schema):
            ordered = sorted(schema, key=lambda key: key["KeyType"])
            return [f"{key['AttributeName']} {kinds[key['AttributeName']]}" for key in ordered]

        def projection(spec):
            return " ".join([spec["ProjectionType"], *spec.get("NonKeyAttributes", [])])

        if table.get("BillingMode") != "PAY_PER_REQUEST":
            yield f"{name} is not on demand"
        if keys(table["KeySchema"]) != ["pk S", "sk S"]:
            yield f"{name} is not keyed by pk and sk"
        time_to_live = table.get("TimeToLiveSpecification") or {}
        found[table["TableName"]] = (
            time_to_live.get("AttributeName") if time_to_live.get("Enabled") else None,
            (table.get("StreamSpecification") or {}).get("StreamViewType"),
            {
                index["IndexName"]: (keys(index["KeySchema"]), projection(index["Projection"]))
                for index in table.get("GlobalSecondaryIndexes", [])
            },
        )
    agreed = {f"messaging-{name}": shape for name, shape in TABLES.items()}
    for name in sorted(set(found) | set(agreed)):
        if found.get(name) != agreed.get(name):
            yield f"table {name} is {found.get(name)}, not {agreed.get(name)}"


@invariant
def buckets_are_private_encrypted_and_tls_only(template):
    stack = Stack(template)
    policies = {policy["Bucket"]["Ref"]: policy for policy in stack.of_type("AWS::S3::BucketPolicy").values()}
    for name, bucket in stack.of_type("AWS::S3::Bucket").items():
        block = bucket.get("PublicAccessBlockConfiguration", {})
        if [block.get(key) for key in ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")] != [True] * 4:
            yield f"{name} can be made public"
        if not (bucket.get("BucketEncryption") or {}).get("ServerSideEncryptionConfiguration"):
            yield f"{name} is not encrypted"
        tls_only = [
            statement
            for statement in policies.get(name, {}).get("PolicyDocument", {}).get("Statement", [])
            if statement["Effect"] == "Deny"
            and statement["Principal"] == "*"
            and statement["Action"] == "s3:*"
            and statement.get("Condition") == {"Bool": {"aws:SecureTransport": "false"}}
            and len(statement["Resource"]) == 2
        ]
        if not tls_only:
            yield f"{name} answers without TLS"
        multipart = [rule for rule in bucket.get("LifecycleConfiguration", {}).get("Rules", []) if "AbortIncompleteMultipartUpload" in rule]
        if not multipart:
            yield f"{name} keeps the parts of abandoned uploads"


@invariant
def browsers_may_only_put_to_the_media_bucket(template):
    stack = Stack(template, UploadOrigins=["https://a.example", "https://b.example"])
    rules = stack.resources["MediaBucket"]["Properties"].get("CorsConfiguration", {}).get("CorsRules", [])
    expected = {"AllowedMethods": ["PUT"], "AllowedOrigins": ["https://a.example", "https://b.example"]}
    if [{key: rule[key] for key in expected} for rule in rules] != [expected]:
        yield "the media bucket's CORS is not: PUT from the origins of the parameter"
    for rule in rules:
        if {"content-type", "content-length", "x-amz-checksum-sha256"} != set(rule["AllowedHeaders"]):
            yield "an upload's headers are not those that are signed"


# --- Functions and routes ------------------------------------------------------------------------------------------


@invariant
def functions_and_their_environment_are_the_agreed_ones(template):
    stack = Stack(template)
    found = {}
    for function in stack.of_type("AWS::Lambda::Function").values():
        found[function["FunctionName"]] = function
        if function["Runtime"] != "provided.al2023" or function["Architectures"] != ["arm64"]:
            yield f"{function['FunctionName']} does not run as built"
    if set(found) != {f"messaging-{name}" for name in FUNCTIONS}:
        yield f"functions are {sorted(found)}"
    for name, function in found.items():
        variables = set(function["Environment"]["Variables"])
        expected = COMMON_ENVIRONMENT | FUNCTIONS.get(name.removeprefix("messaging-"), (set(), set()))[0]
        if variables != expected:
            yield f"{name} is given {sorted(variables ^ expected)} too much or too little"


@invariant
def no_secret_stands_in_an_environment_variable(template):
    stack = Stack(template)
    hidden = {name for name, spec in template["Parameters"].items() if str(spec.get("NoEcho")).lower() == "true"}
    for name, resource in template["Resources"].items():
        if resource["Type"] != "AWS::Serverless::Function":
            continue
        for variable, value in resource["Properties"].get("Environment", {}).get("Variables", {}).items():
            text = json.dumps(value)
            if any(f'"{parameter}"' in text or f"${{{parameter}}}" in text for parameter in hidden):
                yield f"{name}: {variable} carries a hidden parameter"
    for name, function in stack.of_type("AWS::Lambda::Function").items():
        for variable, value in function["Environment"]["Variables"].items():
            if re.search(r"SECRET|PASSWORD|CREDENTIAL|PRIVATE|API_KEY|TOKEN", variable):
                yield f"{name}: {variable} sounds like a secret"
            if re.search(r"resolve:(secretsmanager|ssm-secure)|msk_|whsec_|PRIVATE KEY", json.dumps(value)):
                yield f"{name}: the value of {variable} is a secret"


@invariant
def functions_behind_the_gateway_answer_before_it_gives_up(template):
    stack = Stack(template)
    for name in {name for routes in _routes(stack).values() for name in routes.values() if name}:
        for raw in _raw_timeouts(template, stack, name):
            if stack.largest(raw) >= 29:
                yield f"{name} may take {stack.largest(raw)} s, the gateway waits 29"


@invariant
def every_function_logs_to_a_group_with_retention(template):
    stack = Stack(template)
    groups = stack.of_type("AWS::Logs::LogGroup")
    for name, function in stack.of_type("AWS::Lambda::Function").items():
        group = groups.get(function.get("LoggingConfig", {}).get("LogGroup", {}).get("Ref"))
        if group is None:
            yield f"{name} logs to a group that is not the stack's"
        elif group["LogGroupName"] != f"/aws/lambda/{function['FunctionName']}":
            yield f"{name} logs to {group['LogGroupName']}"
    for name, group in groups.items():
        if "RetentionInDays" not in group:
            yield f"{name} keeps logs for ever"


@invariant
def routes_are_listed_one_by_one(template):
    routes = _routes(Stack(template))
    if routes != ROUTES:
        yield f"routes are {routes}"


@invariant
def the_gateway_hands_requests_on_whole_and_may_do_so(template):
    stack = Stack(template)
    allowed = sorted(
        (_name_of(stack.resources[permission["FunctionName"]["Ref"]]), permission["SourceArn"])
        for permission in stack.of_type("AWS::Lambda::Permission").values()
        if permission["Principal"] == "apigateway.amazonaws.com"
    )
    routed = []
    for api, method, path, operation, function in _operations(stack):
        if function is None:
            continue
        integration = operation["x-amazon-apigateway-integration"]
        if (integration["type"], integration["httpMethod"]) != ("aws_proxy", "POST"):
            yield f"{api}: {method} {path} does not reach {function} as it was sent"
        generic = re.sub(r"\{\w+}", "*", path)
        routed.append((function, f"arn:aws:execute-api:eu-west-1:123456789012:${{{api}}}/*/{method.upper()}{generic}"))
    if allowed != sorted(routed):
        yield f"the gateway may call {allowed}, but is to call {sorted(routed)}"


@invariant
def preflights_are_answered_by_the_function(template):
    stack = Stack(template)
    operations = {(api, method, path): (operation, function) for api, method, path, operation, function in _operations(stack)}
    for (api, method, path), (_, function) in operations.items():
        if api == "CaptureApi" and method == "post" and operations.get((api, "options", path), (None, None))[1] != function:
            yield f"the preflight of {path} does not reach {function}"
    for (api, method, path), (operation, function) in operations.items():
        if method == "options" and (api != "CaptureApi" or function is None):
            yield f"{api} answers preflights of {path} by itself"
        if "access-control-" in json.dumps(operation).lower():
            yield f"{api}: {method} {path} says by itself who may read its answers"
    for api in stack.of_type("AWS::ApiGateway::RestApi"):
        responses = stack.resources[api]["Properties"]["Body"].get("x-amazon-apigateway-gateway-responses", {})
        if "access-control-" in json.dumps(responses).lower():
            yield f"{api} says by itself who may read its errors"


@invariant
def strangers_cannot_take_the_concurrency_of_all_functions(template):
    stack = Stack(template, CaptureRequestsPerSecond="7", CaptureBurst="9")
    for stage in stack.of_type("AWS::ApiGateway::Stage").values():
        if stage["RestApiId"] != {"Ref": "CaptureApi"}:
            continue
        limits = [
            (setting["HttpMethod"], setting["ResourcePath"], setting["ThrottlingRateLimit"], setting["ThrottlingBurstLimit"])
            for setting in stage.get("MethodSettings", [])
        ]
        if limits != [("*", "/*", "7", "9")]:
            yield f"the capture API is limited so: {limits}"


@invariant
def in_production_one_address_cannot_flood_the_capture_api(template):
    for stage, choice, wanted in (
        ("production", "auto", True),
        ("staging", "auto", False),
        ("development", "auto", False),
        ("development", "on", True),
        ("production", "off", False),
    ):
        stack = Stack(template, Stage=stage, CaptureFirewall=choice)
        kinds = ("AWS::WAFv2::WebACL", "AWS::WAFv2::WebACLAssociation")
        if [len(stack.of_type(kind)) for kind in kinds] != [int(wanted)] * 2:
            yield f"CaptureFirewall {choice} in {stage} gives {'no' if wanted else 'a'} web ACL"
    if template["Parameters"]["CaptureFirewall"]["Default"] != "auto":
        yield "the web ACL is not there in production, or elsewhere too, unless asked for"


@invariant
def the_web_acl_counts_the_requests_of_an_address_to_the_capture_api(template):
    stack = Stack(template, CaptureFirewall="on", CaptureRequestsPerAddress="10")
    stages = stack.of_type("AWS::ApiGateway::Stage")
    for name, acl in stack.of_type("AWS::WAFv2::WebACL").items():
        attached = [
            association["ResourceArn"]
            for association in stack.of_type("AWS::WAFv2::WebACLAssociation").values()
            if association["WebACLArn"] == {"Fn::GetAtt": [name, "Arn"]}
        ]
        # A reference to the stage, not its name: without it the association could come before the stage.
        ours = [
            f"arn:aws:apigateway:eu-west-1::/restapis/${{CaptureApi}}/stages/${{{logical_id}}}"
            for logical_id, stage in stages.items()
            if stage["RestApiId"] == {"Ref": "CaptureApi"}
        ]
        if attached != ours or len(ours) != 1:
            yield f"{name} guards {attached}"
        if (acl["Scope"], acl["DefaultAction"]) != ("REGIONAL", {"Allow": {}}):
            yield f"{name} does not let through what no rule blocks"
        rules = [(rule["Statement"], rule.get("Action")) for rule in acl["Rules"]]
        rate = {"RateBasedStatement": {"AggregateKeyType": "IP", "EvaluationWindowSec": 300, "Limit": "10"}}
        # Blocked without an answer of its own, so that the gateway's is sent; it speaks of too many requests only.
        if rules != [(rate, {"Block": {}})]:
            yield f"{name} has other rules than the one of addresses: {rules}"
        seen = [part["VisibilityConfig"] for part in (acl, *acl["Rules"])]
        if not all(config["CloudWatchMetricsEnabled"] for config in seen) or len({config["MetricName"] for config in seen}) != len(seen):
            yield f"{name} has no metrics"
        if any(config["SampledRequestsEnabled"] for config in seen):
            yield f"{name} keeps visitors' addresses"


@invariant
def the_gateway_answers_in_our_shapes(template):
    stack = Stack(template)
    for api, surface in (("IntegrationsApi", 0), ("CaptureApi", 1)):
        responses = stack.resources[api]["Properties"]["Body"].get("x-amazon-apigateway-gateway-responses", {})
        for kind, surfaces in GATEWAY_RESPONSES.items():
            status, code, title = surfaces[surface]
            response = responses.get(kind, {"responseTemplates": {}})
            if surface == 0:
                body = {"title": title, "status": status, "code": code}
                headers = {"X-Request-Id": "context.requestId"}
            else:
                body = {"type": f"SERVICE.CAMPAIGN_LEADS.{code}", "title": title, "status": status}
                headers = {"Content-Type": "'application/problem+json'", "Vary": "'Origin'"}
            headers |= {"Cache-Control": "'no-store'", "X-Content-Type-Options": "'nosniff'"}
            if status == 429:
                headers["Retry-After"] = "'60'" if kind == "WAF_FILTERED" else "'1'"
            sent = response.get("responseParameters", {})
            if {key.removeprefix("gatewayresponse.header."): value for key, value in sent.items()} != headers:
                yield f"{api}: headers of {kind}"
            if response.get("statusCode") != str(status):
                yield f"{api}: status of {kind}"
            if response["responseTemplates"].get("application/json") != json.dumps(body, separators=(",", ":")):
                yield f"{api}: body of {kind}"
        for kind in set(responses) - set(GATEWAY_RESPONSES):
            yield f"{api}: {kind} is no gateway response we know"


@invariant
def one_stage_called_live(template):
    stack = Stack(template)
    stages = [stage["StageName"] for stage in stack.of_type("AWS::ApiGateway::Stage").values()]
    stages += [made["StageName"] for made in stack.of_type("AWS::ApiGateway::Deployment").values() if "StageName" in made]
    if stages != ["live", "live"]:
        yield f"stages are {stages}"


@invariant
def own_host_names_are_optional_and_need_a_certificate(template):
    if Stack(template).of_type("AWS::ApiGateway::DomainName"):
        yield "a host name without being asked for"
    certificate = "arn:aws:acm:eu-west-1:123456789012:certificate/c"
    for parameter, output, address in (
        ("ApiDomainName", "ApiUrl", "https://api.example.com"),
        ("CaptureDomainName", "CaptureUrl", "https://api.example.com"),
    ):
        stack = Stack(template, **{parameter: "api.example.com", "CertificateArn": certificate})
        domains = list(stack.of_type("AWS::ApiGateway::DomainName").values())
        mappings = list(stack.of_type("AWS::ApiGateway::BasePathMapping").values())
        if [domain["RegionalCertificateArn"] for domain in domains] != [certificate] or len(mappings) != 1:
            yield f"{parameter} makes no host name"
        if domains and domains[0]["SecurityPolicy"] != "TLS_1_2":
            yield f"{parameter} allows old TLS"
        if stack.outputs[output] != address:
            yield f"{output} does not tell {parameter}"
        if not Stack(template, **{parameter: "api.example.com"}).refused_by():
            yield f"{parameter} is accepted without a certificate"


@invariant
def outputs_are_the_agreed_ones(template):
    outputs = set(Stack(template).outputs)
    if outputs != OUTPUTS:
        yield f"outputs are {sorted(outputs)}"


# --- Reading the expanded template ---------------------------------------------------------------------------------


def _with_values(template, values):
    """Only rules and parameters, without the cost of expanding resources."""
    stack = Stack.__new__(Stack)
    stack.template = template
    stack.values = {name: values.get(name, spec.get("Default")) for name, spec in template["Parameters"].items()}
    return stack


def _with_everything(template):
    """All conditional parts present."""
    return Stack(template, Stage="production", SecretsKmsKeyArn="arn:aws:kms:eu-west-1:123456789012:key/k")


def _queue_mappings(stack):
    queues = stack.of_type("AWS::SQS::Queue")
    for mapping in stack.of_type("AWS::Lambda::EventSourceMapping").values():
        source = mapping["EventSourceArn"]["Fn::GetAtt"][0]
        if source in queues:
            yield source, stack.resources[mapping["FunctionName"]["Ref"]]


def _stream_mappings(stack):
    for name, mapping in stack.of_type("AWS::Lambda::EventSourceMapping").items():
        if mapping["EventSourceArn"]["Fn::GetAtt"][1] == "StreamArn":
            yield name, mapping


def _routes(stack):
    """Per API, (method, path) -> name of the function, or None where the gateway answers by itself."""
    routes = {}
    for api, method, path, _, function in _operations(stack):
        routes.setdefault(api, {})[(method, path)] = function
    return routes


def _operations(stack):
    """API, method, path, definition, name of the function or None where the gateway answers by itself."""
    for api, definition in stack.of_type("AWS::ApiGateway::RestApi").items():
        for path, methods in definition["Body"]["paths"].items():
            for method, operation in methods.items():
                uri = operation["x-amazon-apigateway-integration"].get("uri", "")
                target = re.search(r"functions/\$\{(\w+)\.Arn}", uri)
                yield api, method, path, operation, _name_of(stack.resources[target.group(1)]) if target else None


def _raw_timeouts(template, stack, name):
    """The time-out as written in the template (a number or a parameter) of the function called `name`."""
    default = template["Globals"]["Function"].get("Timeout", 3)
    for logical_id, resource in template["Resources"].items():
        if resource["Type"] == "AWS::Serverless::Function" and _name_of(stack.resources[logical_id]) == name:
            yield resource["Properties"].get("Timeout", default)


def _name_of(function):
    return function["Properties"]["FunctionName"].removeprefix("messaging-")


def _statements(role):
    for policy in role.get("Policies", []):
        for statement in policy["PolicyDocument"]["Statement"]:
            if statement["Effect"] == "Allow":
                yield statement


def _owner(resource):
    """Logical id of the resource that an ARN belongs to."""
    if isinstance(resource, dict):
        return resource["Fn::GetAtt"][0] if "Fn::GetAtt" in resource else None
    match = re.match(r"\$\{(\w+)\.\w+}", resource)
    return match.group(1) if match else None


def _list(value):
    return value if isinstance(value, list) else [value]
