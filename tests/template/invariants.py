"""The invariants of the template that linters do not check. Each invariant yields one sentence per violation."""

import itertools
import json
import pathlib
import re

from creation import TRACING_RIGHTS, unchecked
from expand import Stack

ROOT = pathlib.Path(__file__).parents[2]

INVARIANTS = []


def invariant(check):
    INVARIANTS.append(check)
    return check


# --- Names and numbers that the code, the console and the local stack depend on ------------------------------------

# function -> (environment variables besides the common ones, tables that it may access)
COMMON_ENVIRONMENT = {"STACK", "LOG_LEVEL", "REVISION", "AWS_LAMBDA_HTTP_IGNORE_STAGE_IN_PATH"}
FUNCTIONS = {
    "conversations": (
        {"FIRST_DUE_SECONDS", "MESSAGE_RETENTION_DAYS", "CONVERSATION_RETENTION_DAYS"},
        {"api-keys", "limits", "workspaces", "contacts", "conversations", "messages", "secrets"},
    ),
    "contacts": (set(), {"api-keys", "limits", "workspaces", "contacts", "leads", "audit", "secrets"}),
    "files": ({"MEDIA_BUCKET"}, {"api-keys", "limits", "workspaces", "media"}),
    "messages": (
        {"FIRST_DUE_SECONDS", "MEDIA_BUCKET", "MESSAGE_RETENTION_DAYS"},
        {"api-keys", "limits", "workspaces", "contacts", "conversations", "messages", "media", "secrets"},
    ),
    "attributes": ({"CAPTURE_URL"}, {"api-keys", "limits", "workspaces", "audit", "secrets"}),
    "users": (set(), {"api-keys", "limits", "workspaces", "audit", "secrets"}),
    "access": (set(), {"api-keys", "limits", "workspaces", "audit", "secrets"}),
    "endpoints": (
        {"DELIVERY_QUEUE_URL", "SLOW_DELIVERY_QUEUE_URL", "FIRST_DUE_SECONDS", "TRUSTED_RECEIVERS"},
        {"api-keys", "limits", "workspaces", "webhooks", "audit", "secrets"},
    ),
    "deliveries": (
        {"DELIVERY_QUEUE_URL", "SLOW_DELIVERY_QUEUE_URL", "FIRST_DUE_SECONDS"},
        {"api-keys", "limits", "workspaces", "webhooks", "audit", "secrets"},
    ),
    "lead-records": (
        {"LEAD_QUEUE_URL", "FIRST_DUE_SECONDS"},
        {"api-keys", "limits", "workspaces", "leads", "audit", "secrets"},
    ),
    "portal": ({"CAPTURE_URL", "FRAME_ANCESTORS"}, set()),
    "leads": (
        {"CAPTCHA_URL", "FIRST_DUE_SECONDS", "LEAD_RETENTION_DAYS"},
        {"workspaces", "leads", "limits", "secrets"},
    ),
    "event-relay": (
        {
            "DELIVERY_QUEUE_URL",
            "SLOW_DELIVERY_QUEUE_URL",
            "SEND_QUEUE_URL",
            "LEAD_QUEUE_URL",
            "PERSON_QUEUE_URL",
            "FIRST_DUE_SECONDS",
            "MEDIA_BUCKET",
            "FAILURE_BUCKET",
            "EVENT_RETENTION_DAYS",
            "PARTIAL_BATCHES",
        },
        {"contacts", "conversations", "messages", "media", "leads", "limits", "workspaces", "webhooks"},
    ),
    "message-sender": (
        {
            "SEND_QUEUE_URL",
            "INBOX_QUEUE_URL",
            "SEND_RETRY_SCHEDULE",
            "SEND_THROTTLE_SCHEDULE",
            "TEMPLATE_LOOK_SECONDS",
            "SEND_TIMEOUT_SECONDS",
            "SEND_LEASE_SECONDS",
            "FIRST_DUE_SECONDS",
            "GRAPH_URL",
            "GRAPH_VERSION",
            "MEDIA_BUCKET",
            "MESSAGE_RETENTION_DAYS",
        },
        {"workspaces", "contacts", "conversations", "messages", "leads", "limits", "secrets"},
    ),
    "lead-sender": (
        {
            "LEAD_QUEUE_URL",
            "SEND_LEASE_SECONDS",
            "FIRST_DUE_SECONDS",
            "MESSAGE_RETENTION_DAYS",
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
            "EGRESS_CONTROL_URL",
            "TRUSTED_RECEIVERS",
            "TRUSTED_CA_PEM",
        },
        {"workspaces", "webhooks", "limits", "secrets"},
    ),
    "people": (
        {
            "PERSON_QUEUE_URL",
            "DELIVERY_QUEUE_URL",
            "SLOW_DELIVERY_QUEUE_URL",
            "FIRST_DUE_SECONDS",
            "ERASURE_SETTLE_SECONDS",
            "MEDIA_BUCKET",
            "FAILURE_BUCKET",
        },
        {"workspaces", "contacts", "conversations", "messages", "media", "leads", "webhooks", "secrets"},
    ),
    "sweeper": (
        {"DELIVERY_QUEUE_URL", "SLOW_DELIVERY_QUEUE_URL", "SEND_QUEUE_URL", "LEAD_QUEUE_URL", "PERSON_QUEUE_URL"},
        {"webhooks", "messages", "leads", "contacts"},
    ),
    "uploads": ({"MEDIA_BUCKET"}, {"media"}),
    "provider-events": ({"INBOX_QUEUE_URL", "FAILURE_BUCKET"}, {"secrets"}),
    "inbox": (
        {
            "MEDIA_BUCKET",
            "INBOX_QUEUE_URL",
            "FAILURE_BUCKET",
            "GRAPH_URL",
            "GRAPH_VERSION",
            "MESSAGE_RETENTION_DAYS",
            "CONVERSATION_RETENTION_DAYS",
        },
        {"workspaces", "contacts", "conversations", "messages", "media", "leads", "secrets"},
    ),
}

# (function, table) -> the keys of the partitions that it may access. Listed are: secrets and settings, for all functions; all
# tables, for the public functions `leads` and `provider-events`; leads, for the senders and `inbox`. After `|` are the keys of
# other tables in the same calls: AWS does not document whether a statement sees the keys of its own table only. The tests of
# the functions hold that each call is allowed in both readings (tests/harness/src/rights.rs).
HASH = {"?" * 64}  # of an API key
CURSOR_KEYS = {"00000000-0000-0000-0000-000000000000#X"}
PERSON_KEY = {"00000000-0000-0000-0000-000000000000#HK"}  # in `secrets`; its fingerprint in `workspaces`
AUDIT_LOG = "????????-????-????-????-????????????"  # in `audit`
LEADING_KEYS = {
    ("access", "secrets"): CURSOR_KEYS,
    ("access", "workspaces"): {"*#W"} | {"*#I", "*#S", "*#R#*", AUDIT_LOG} | HASH,
    ("attributes", "limits"): {"*#N", "*#T#*", "any", "*#A", "*#K", "*#OK", "*#R#*", "*#W"} | {AUDIT_LOG},  # the limiter counts under any key
    ("attributes", "secrets"): {"*#K", "*#W"} | {AUDIT_LOG},
    ("attributes", "workspaces"): {"*#A", "*#BA", "*#K", "*#L", "*#LS", "*#M", "*#OK", "*#R#*", "*#W"} | {AUDIT_LOG} | HASH,
    ("contacts", "leads"): {"*#O"} | {"*#C#*", "*#D#*", "*#E#*", "*#P#*", "*#T#*", "*#Z#*"} | {AUDIT_LOG},
    ("contacts", "secrets"): CURSOR_KEYS | PERSON_KEY,
    ("contacts", "workspaces"): {"*#A", "*#P", "*#U", "*#UE#*", "*#W"} | {"*#C#*", "*#J"} | HASH | PERSON_KEY,
    ("conversations", "secrets"): CURSOR_KEYS,
    ("conversations", "workspaces"): {"*#L", "*#M", "*#MV", "*#R#*", "*#T", "*#U", "*#UE#*", "*#W"} | {"*#C#*", "*#E#*", "*#P#*"} | HASH,
    ("event-relay", "leads"): {"*#L#*"},
    ("event-relay", "limits"): {"*#N"},
    ("event-relay", "workspaces"): {"*#H", "*#A", "*#L", "*#W", "00000000-0000-0000-0000-000000000000#BA#*"},
    ("files", "workspaces"): {"*#W"} | HASH,
    ("inbox", "leads"): {"*#O"}
    | {"*#A#*", "*#C#*", "*#D#*", "*#I#*", "*#M#*", "*#P#*", "*#T#*", "*#U#*", "*#X#*", "*#Z#*"},
    ("inbox", "secrets"): {"*#L#*"} | PERSON_KEY,
    ("inbox", "workspaces"): {
        "00000000-0000-0000-0000-000000000000#LC#*", "00000000-0000-0000-0000-000000000000#BA#*",
        "00000000-0000-0000-0000-000000000000#WS", "*#BA", "*#L", "*#LS", "*#M", "*#MN", "*#OK", "*#W",
    }
    | {"*#C#*", "*#P#*", "*#U#*"}
    | PERSON_KEY,
    ("lead-records", "leads"): {"*#L#*", "*#O"} | {AUDIT_LOG},
    ("lead-records", "secrets"): CURSOR_KEYS | PERSON_KEY,
    ("lead-records", "workspaces"): {"*#K", "*#M", "*#W"} | HASH | PERSON_KEY,
    ("messages", "secrets"): CURSOR_KEYS,
    ("messages", "workspaces"): {"*#L", "*#M", "*#MN", "*#W"} | {"*#C#*", "*#M#*", "*#R#*"} | HASH,
    ("leads", "secrets"): {"*#K"},
    ("leads", "workspaces"): {"*#K", "*#L", "*#W"} | {"*#D#*", "*#K#*"},
    ("leads", "limits"): {"*#K"},
    ("leads", "leads"): {"*#L#*", "*#D#*", "*#K#*", "*#N#*", "*#Q#*"} | {"*#K", "*#W"},
    ("lead-sender", "secrets"): PERSON_KEY,
    ("lead-sender", "workspaces"): {"*#K", "*#L", "*#M", "*#W"} | PERSON_KEY,
    ("lead-sender", "leads"): {"*#L#*", "*#O"} | {"*#A#*", "*#C#*", "*#P#*", "*#T#*", "*#X#*"},
    ("message-sender", "leads"): {"*#L#*", "*#O"} | {"*#C#*", "*#D#*", "*#P#*", "*#T#*", "*#U#*", "*#Z#*"},
    ("message-sender", "limits"): {"*#T#*"},
    ("message-sender", "secrets"): {"*#L#*"} | PERSON_KEY,
    ("message-sender", "workspaces"): {"*#K", "*#L", "*#M", "*#W"} | PERSON_KEY,
    ("people", "secrets"): PERSON_KEY,
    ("people", "workspaces"): {"*#H", "*#HD", "*#P"} | PERSON_KEY,
    ("provider-events", "secrets"): {"00000000-0000-0000-0000-000000000000#P"},
    ("users", "secrets"): CURSOR_KEYS,
    ("users", "workspaces"): {"*#U", "*#UE#*", "*#T", "*#R#*", "*#W"} | {AUDIT_LOG} | HASH,
    ("webhook-delivery", "limits"): {"*#N"},
    ("webhook-delivery", "secrets"): {"*#H#*"} | {"*#H", "*#W", "*#E#*", "*#V#*"},
    ("webhook-delivery", "workspaces"): {"*#H", "*#W"} | {"*#H#*", "*#E#*", "*#V#*"},
    ("deliveries", "secrets"): CURSOR_KEYS,
    ("deliveries", "workspaces"): {"*#H", "*#HD", "*#W"} | HASH,
    ("endpoints", "secrets"): {"*#H#*"} | {"*#H", "*#HD", "*#W", "*#E#*", "*#R#*", AUDIT_LOG},
    ("endpoints", "workspaces"): {"*#H", "*#HD", "*#W"} | {"*#H#*", "*#E#*", "*#R#*", AUDIT_LOG} | HASH,
}

# table -> (time-to-live attribute, stream view, {index: (keys, projection)})
TABLES = {
    "workspaces": (None, "NEW_AND_OLD_IMAGES", {}),
    "api-keys": ("expiresAt", None, {}),
    "limits": ("expiresAt", None, {}),
    "contacts": (
        None,
        "NEW_AND_OLD_IMAGES",
        {
            "list": (["listPk S", "listSk S"], "KEYS_ONLY"),
            "owner": (["ownerPk S", "listSk S"], "KEYS_ONLY"),
            "due": (["dueShard S", "dueAt N"], "KEYS_ONLY"),
        },
    ),
    "conversations": ("expiresAt", "NEW_AND_OLD_IMAGES", {"byStatus": (["statusPk S", "sk S"], "ALL")}),
    "messages": (
        "expiresAt",
        "NEW_AND_OLD_IMAGES",
        {
            "due": (["dueShard S", "dueAt N"], "KEYS_ONLY"),
            "list": (["pk S", "listSk S"], "INCLUDE direction expiresAt"),
        },
    ),
    "media": ("expiresAt", "OLD_IMAGE", {}),
    "leads": (
        "expiresAt",
        "NEW_AND_OLD_IMAGES",
        {
            "due": (["dueShard S", "dueAt N"], "KEYS_ONLY"),
            "byTime": (["timePk S", "timeSk S"], "INCLUDE state"),
            "byPhone": (["phonePk S", "timeSk S"], "KEYS_ONLY"),
        },
    ),
    "webhooks": ("expiresAt", None, {"due": (["dueShard S", "dueAt N"], "KEYS_ONLY")}),
    "secrets": (None, None, {}),
    "audit": ("expiresAt", None, {}),
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
        ("post", f"{WORKSPACE}/contacts/{{contactId}}/erasure"): "contacts",
        ("post", f"{WORKSPACE}/contacts/{{contactId}}/merge"): "contacts",
        ("get", f"{WORKSPACE}/erasures/{{erasureId}}"): "contacts",
        ("get", f"{WORKSPACE}/settings/attributes"): "attributes",
        ("post", f"{WORKSPACE}/settings/attributes"): "attributes",
        ("get", f"{WORKSPACE}/settings/attributes/{{attributeId}}"): "attributes",
        ("patch", f"{WORKSPACE}/settings/attributes/{{attributeId}}"): "attributes",
        ("post", f"{WORKSPACE}/settings/attributes/{{attributeId}}/values"): "attributes",
        ("patch", f"{WORKSPACE}/settings/attributes/{{attributeId}}/values/{{valueId}}"): "attributes",
        ("get", f"{WORKSPACE}/settings/opt-out-keywords"): "attributes",
        ("put", f"{WORKSPACE}/settings/opt-out-keywords"): "attributes",
        ("delete", f"{WORKSPACE}/settings/opt-out-keywords"): "attributes",
        ("get", f"{WORKSPACE}/opt-outs"): "contacts",
        ("post", f"{WORKSPACE}/opt-outs"): "contacts",
        ("delete", f"{WORKSPACE}/opt-outs/{{optOutId}}"): "contacts",
        ("get", f"{WORKSPACE}/settings/capture"): "attributes",
        ("patch", f"{WORKSPACE}/settings/capture"): "attributes",
        ("post", f"{WORKSPACE}/settings/capture/rotate-key"): "attributes",
        ("get", f"{WORKSPACE}/settings/onboarding"): "attributes",
        ("put", f"{WORKSPACE}/settings/onboarding"): "attributes",
        ("get", f"{WORKSPACE}/settings/brands"): "attributes",
        ("get", f"{WORKSPACE}/settings/lines"): "attributes",
        ("get", f"{WORKSPACE}/usage"): "attributes",
        ("get", f"{WORKSPACE}/users"): "users",
        ("post", f"{WORKSPACE}/users"): "users",
        ("get", f"{WORKSPACE}/users/{{userId}}"): "users",
        ("patch", f"{WORKSPACE}/users/{{userId}}"): "users",
        ("get", f"{WORKSPACE}/teams"): "users",
        ("post", f"{WORKSPACE}/teams"): "users",
        ("get", f"{WORKSPACE}/teams/{{teamId}}"): "users",
        ("patch", f"{WORKSPACE}/teams/{{teamId}}"): "users",
        ("delete", f"{WORKSPACE}/teams/{{teamId}}"): "users",
        ("get", f"{WORKSPACE}/api-keys"): "access",
        ("post", f"{WORKSPACE}/api-keys"): "access",
        ("get", f"{WORKSPACE}/api-keys/{{keyId}}"): "access",
        ("patch", f"{WORKSPACE}/api-keys/{{keyId}}"): "access",
        ("delete", f"{WORKSPACE}/api-keys/{{keyId}}"): "access",
        ("get", f"{WORKSPACE}/session"): "access",
        ("delete", f"{WORKSPACE}/session"): "access",
        ("get", f"{WORKSPACE}/sessions"): "access",
        ("post", f"{WORKSPACE}/sessions"): "access",
        ("delete", f"{WORKSPACE}/sessions/{{sessionId}}"): "access",
        ("post", f"{WORKSPACE}/portal-links"): "access",
        ("get", f"{WORKSPACE}/audit-log"): "access",
        ("get", "/portal"): "portal",
        ("get", f"{WORKSPACE}/webhook-endpoints"): "endpoints",
        ("post", f"{WORKSPACE}/webhook-endpoints"): "endpoints",
        ("get", f"{WORKSPACE}/webhook-endpoints/{{endpointId}}"): "endpoints",
        ("patch", f"{WORKSPACE}/webhook-endpoints/{{endpointId}}"): "endpoints",
        ("delete", f"{WORKSPACE}/webhook-endpoints/{{endpointId}}"): "endpoints",
        ("post", f"{WORKSPACE}/webhook-endpoints/{{endpointId}}/enable"): "endpoints",
        ("post", f"{WORKSPACE}/webhook-endpoints/{{endpointId}}/disable"): "endpoints",
        ("post", f"{WORKSPACE}/webhook-endpoints/{{endpointId}}/rotate-secret"): "endpoints",
        ("post", f"{WORKSPACE}/webhook-endpoints/{{endpointId}}/activate-secret"): "endpoints",
        ("get", f"{WORKSPACE}/deliveries"): "deliveries",
        ("get", f"{WORKSPACE}/deliveries/{{deliveryId}}"): "deliveries",
        ("post", f"{WORKSPACE}/deliveries/{{deliveryId}}/retry"): "deliveries",
        ("get", f"{WORKSPACE}/webhook-endpoints/{{endpointId}}/jobs"): "deliveries",
        ("post", f"{WORKSPACE}/webhook-endpoints/{{endpointId}}/jobs"): "deliveries",
        ("get", f"{WORKSPACE}/webhook-endpoints/{{endpointId}}/jobs/{{jobId}}"): "deliveries",
        ("post", f"{WORKSPACE}/webhook-endpoints/{{endpointId}}/jobs/{{jobId}}/cancel"): "deliveries",
        ("post", f"{WORKSPACE}/webhook-endpoints/{{endpointId}}/test"): "deliveries",
        ("get", f"{WORKSPACE}/events"): "deliveries",
        ("get", f"{WORKSPACE}/events/{{eventId}}"): "deliveries",
        ("get", f"{WORKSPACE}/leads"): "lead-records",
        ("get", f"{WORKSPACE}/leads/{{requestId}}"): "lead-records",
        ("post", f"{WORKSPACE}/leads/{{requestId}}/retry"): "lead-records",
        ("post", f"{WORKSPACE}/lead-retries"): "lead-records",
        ("get", "/portal/{file}"): "portal",
        ("post", f"{WORKSPACE}/files"): "files",
        ("get", f"{WORKSPACE}/files/{{mediaId}}"): "files",
        ("post", f"{WORKSPACE}/messages"): "messages",
        ("get", f"{WORKSPACE}/messages/{{messageId}}"): "messages",
        ("get", f"{WORKSPACE}/conversations/{{conversationId}}/messages"): "messages",
        ("get", f"{WORKSPACE}/templates"): "messages",
        ("get", f"{WORKSPACE}/templates/{{templateId}}"): "messages",
        ("post", f"{WORKSPACE}/templates/{{templateId}}/preview"): "messages",
    },
    "CaptureApi": {
        ("get", "/health"): None,
        ("post", "/api/v1/leadscout/campaign-leads"): "leads",
        ("options", "/api/v1/leadscout/campaign-leads"): "leads",
        ("get", "/api/v1/leadscout/scripts/{script}"): "leads",
    },
    "ProviderApi": {
        ("get", "/api/v1/whatsapp/{appId}"): "provider-events",
        ("post", "/api/v1/whatsapp/{appId}"): "provider-events",
    },
}

# The gateway's own responses: response type -> (status, code, title), (status, type, title) and (status, text).
NOT_FOUND = (
    (404, "SERVICE_CORE_0404", "Not Found"), (404, "INVALID_REQUEST", "Not Found"),
    (403, "Forbidden"),
)
BAD_REQUEST = (
    (400, "SERVICE_CORE_0400", "Bad Request"), (400, "INVALID_REQUEST", "Bad Request"),
    (403, "Forbidden"),
)
FORBIDDEN = (
    (403, "SERVICE_CORE_0301", "Forbidden"), (403, "REJECTED", "Forbidden"),
    (403, "Forbidden"),
)
TOO_LARGE = (
    (413, "SERVICE_CORE_0413", "Payload Too Large"), (400, "INVALID_REQUEST", "Bad Request"),
    (403, "Forbidden"),
)
NOT_JSON = (
    (415, "SERVICE_CORE_0415", "Unsupported Media Type"), (400, "INVALID_REQUEST", "Bad Request"),
    (403, "Forbidden"),
)
TOO_MANY = (
    (429, "SERVICE_RATE_LIMIT_0001", "Too Many Requests"), (429, "RATE_LIMITED", "Too Many Requests"),
    (429, "Too Many Requests"),
)
FAILED = (
    (500, "SERVICE_CORE_0500", "Internal Server Error"), (500, "INTERNAL_ERROR", "Internal Server Error"),
    (500, "Internal Server Error"),
)
TIMED_OUT = (
    (503, "SERVICE_CORE_0503", "Service Unavailable"), (500, "INTERNAL_ERROR", "Internal Server Error"),
    (500, "Internal Server Error"),
)
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
    # The web ACLs block too many requests, and nothing else.
    "WAF_FILTERED": TOO_MANY,
}

RUNBOOKS = ROOT / "docs" / "runbooks"
NO_ALARMS_RUNBOOKS = {"README", "first-deploy", "restore"}
METRICS = ROOT / "shared" / "runtime" / "src" / "metrics.rs"
RELAY = ROOT / "functions" / "event-relay" / "src" / "relay.rs"
RETENTION = ROOT / "shared" / "domain" / "src" / "retention.rs"
# Until when a piece begins items, the limit of a fetch, what is kept for tables; the limit of a call.
INBOX_TIMES = [
    ROOT / path
    for path in ("functions/inbox/src/invocation.rs", "functions/inbox/src/files.rs", "shared/runtime/src/aws.rs")
]

KEY = "arn:aws:kms:eu-west-1:123456789012:key/k"
SECRETS_KEY = "arn:aws:kms:eu-west-1:123456789012:key/s"
TOPIC = "arn:aws:sns:eu-west-1:123456789012:operators"
# Roles that are not ours to write: of CodeDeploy, of API Gateway.
MANAGED = {
    "RolloutRole": ["arn:aws:iam::aws:policy/service-role/AWSCodeDeployRoleForLambdaLimited"],
    "GatewayLogsWriter": ["arn:aws:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs"],
}
# CodeDeploy's role may call functions with such names only. It reports to CodeDeploy, so nothing else watches it.
ROLLOUT_CHECK = "CodeDeployHook_messaging"
ROLLOUT_CHECK_REACHES = {
    "lambda:InvokeFunction": r"arn:aws:lambda:eu-west-1:123456789012:function:messaging-[a-z-]+:\*",
    "codedeploy:PutLifecycleEventHookExecutionStatus": r"arn:aws:codedeploy:eu-west-1:123456789012:deploymentgroup:messaging-\*/\*",
}
# Of a request, what an access log may say.
LOGGED = {
    "error.responseType", "httpMethod", "integrationLatency", "integrationStatus", "requestId", "requestTimeEpoch",
    "resourcePath", "responseLatency", "status", "wafResponseCode",
}

# API -> what its parameters begin with
LIMITED = {"IntegrationsApi": "Api", "CaptureApi": "Capture", "ProviderApi": "Provider"}
# Those that may have a web ACL.
GUARDED = LIMITED

# Of an account's concurrency Lambda keeps so much for functions without a reservation.
UNRESERVED = 100

# parameter -> functions whose concurrency it reserves
RESERVES = {
    "ApiReservedConcurrency": {"access", "attributes", "contacts", "conversations", "files", "messages", "portal", "users", "endpoints", "deliveries", "lead-records"},
    "LeadsReservedConcurrency": {"leads"},
    "RelayReservedConcurrency": {"event-relay"},
    "DeliveryReservedConcurrency": {"webhook-delivery"},
    "SenderReservedConcurrency": {"message-sender", "lead-sender"},
    "InboundReservedConcurrency": {"provider-events", "inbox"},
}

# queue -> the parameter with the most invocations that it may have at the same time
WIDTHS = {
    "webhook-deliveries": "DeliveryConcurrency",
    "webhook-deliveries-slow": "SlowDeliveryConcurrency",
    "message-sends": "SendConcurrency",
    "lead-sends": "LeadConcurrency",
    "person-jobs": "PersonConcurrency",
    "uploads": "UploadConcurrency",
    "inbox": "InboxConcurrency",
}

# Queues to which S3 itself sends. Their messages hold ids and sizes.
TOLD_BY_S3 = {"UploadQueue", "UploadDeadLetterQueue"}

# parameter -> its minimum, its default, its maximum in the code, and the functions that write such rows
RETENTIONS = {
    "MessageRetentionDays": (0, 0, "LONGEST_DAYS", {"conversations", "messages", "message-sender", "lead-sender", "inbox"}),
    "ConversationRetentionDays": (0, 0, "LONGEST_DAYS", {"conversations", "inbox"}),
    "LeadRetentionDays": (0, 0, "LONGEST_DAYS", {"leads"}),
    "EventRetentionDays": (1, 30, "LONGEST_EVENTS", {"event-relay"}),
}

# They may be longer than a version's description allows. To change only one of these, also change Revision.
NOT_TOLD_BY_VERSIONS = {"TrustedReceivers", "TrustedCaPem", "EgressControlUrl"}

# The seconds that a function needs besides its longest call: to read its work and to record the result.
READ_SECONDS = 2
RECORD_SECONDS = 5
# A lease outlasts its function by this: clocks differ, and a write may be in flight when the function is stopped.
LEASE_MARGIN_SECONDS = 5

# A stream keeps a record this long.
FORGOTTEN_AFTER_SECONDS = 86400

OUTPUTS = {
    "ApiUrl",
    "CaptureUrl",
    "ReferenceUrl",
    "DeliveryQueueUrl",
    "DeliveryDlqUrl",
    "SlowDeliveryQueueUrl",
    "SlowDeliveryDlqUrl",
    "SendQueueUrl",
    "SendDlqUrl",
    "LeadQueueUrl",
    "LeadDlqUrl",
    "UploadQueueUrl",
    "UploadDlqUrl",
    "ProviderEventsUrl",
    "InboxQueueUrl",
    "InboxDlqUrl",
    "MediaBucketName",
    "FailureBucketName",
}

# table -> filters of the stream records that reach the relay
RELAYED = {
    "contacts": [
        {"dynamodb": {"Keys": {"sk": {"S": ["C"]}}}},
        {"eventName": ["INSERT"], "dynamodb": {"Keys": {"sk": {"S": [{"prefix": "X#"}]}}}},
        {"eventName": ["INSERT", "MODIFY"], "dynamodb": {"NewImage": {"kind": {"S": ["erasure", "merge"]}, "state": {"S": ["ASKED"]}}}},
    ],
    "conversations": [{"dynamodb": {"Keys": {"sk": {"S": ["C"]}}}}],
    "messages": [
        {"dynamodb": {"Keys": {"sk": {"S": [{"prefix": "M#"}]}}}},
        {"eventName": ["INSERT"], "dynamodb": {"Keys": {"sk": {"S": ["P"]}}, "NewImage": {"kind": {"S": ["plan"]}}}},
    ],
    "media": [{"eventName": ["REMOVE"], "dynamodb": {"Keys": {"sk": {"S": ["M"]}}}}],
    "leads": [
        {"eventName": ["INSERT", "MODIFY"], "dynamodb": {"Keys": {"sk": {"S": ["L"]}}}},
        {"eventName": ["INSERT", "MODIFY"], "dynamodb": {"NewImage": {"kind": {"S": ["optOut"]}}}},
    ],
    "workspaces": [
        {"eventName": ["MODIFY"], "dynamodb": {"NewImage": {"kind": {"S": ["endpoint"]}}}},
        {"eventName": ["INSERT", "MODIFY"], "dynamodb": {"NewImage": {"kind": {"S": ["template", "lineState", "accountReport"]}}}},
    ],
}


# --- Queues and streams --------------------------------------------------------------------------------------------


@invariant
def visibility_covers_the_time_outs_of_the_functions(template):
    """Five receives of six time-outs each, or as long a time with more receives of one and a half."""
    stack = Stack(template)
    for queue, function in _queue_mappings(stack):
        name = _name_of(function)
        longest = max(stack.largest(raw) for raw in _raw_timeouts(template, stack, name))
        properties = stack.resources[queue]["Properties"]
        visibility = properties.get("VisibilityTimeout", 30)
        receives = (properties.get("RedrivePolicy") or {}).get("maxReceiveCount", 1)
        if visibility * 2 < 3 * longest:
            yield f"{queue} hides a message for {visibility} s, but {name} may take {longest} s"
        if visibility * receives < 30 * longest:
            yield f"{queue} gives a message up after {receives} receives of {visibility} s, but {name} may take {longest} s"


@invariant
def only_the_only_copies_of_work_come_again_before_six_time_outs(template):
    """A message that names a lane need not come again soon, because the sweeper finds the lane."""
    stack = Stack(template)
    for queue, function in _queue_mappings(stack):
        longest = max(stack.largest(raw) for raw in _raw_timeouts(template, stack, _name_of(function)))
        visibility = stack.resources[queue]["Properties"].get("VisibilityTimeout", 30)
        if (visibility < 6 * longest) != (queue == "InboxQueue"):
            yield f"{queue} hides a message for {visibility} s"


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
            yield f"the dead-letter queue of {name} does not keep messages longer than the queue"
    for name in set(queues) - dead_letter_queues:
        if "RedrivePolicy" not in queues[name]:
            yield f"{name} has no dead-letter queue"


@invariant
def queues_are_encrypted(template):
    for name, queue in Stack(template).of_type("AWS::SQS::Queue").items():
        if queue.get("SqsManagedSseEnabled") is not True and "KmsMasterKeyId" not in queue:
            yield f"{name} is not encrypted"


@invariant
def lambda_ends_no_chain_of_messages_that_functions_need(template):
    """Lambda ends a chain of about 16 invocations that SQS, S3 and SNS connect, unless the function allows it."""
    stack = Stack(template)
    queues, buckets = stack.of_type("AWS::SQS::Queue"), stack.of_type("AWS::S3::Bucket")
    tells = {
        bucket: {told["Queue"]["Fn::GetAtt"][0] for told in spec.get("NotificationConfiguration", {}).get("QueueConfigurations", [])}
        for bucket, spec in buckets.items()
    }
    reads, invokes = {}, {}
    for queue, function in _queue_mappings(stack):
        reads.setdefault(queue, set()).add(_name_of(function))
    functions = stack.of_type("AWS::Lambda::Function").values()
    for function in functions:
        reached = set()
        for statement in _statements(stack.resources[function["Role"]["Fn::GetAtt"][0]]["Properties"]):
            owners = {_owner(resource) for resource in _list(statement["Resource"])}
            if "sqs:SendMessage" in _list(statement["Action"]):
                reached |= owners & set(queues)
            if "s3:PutObject" in _list(statement["Action"]):
                reached |= set().union(*(tells[bucket] for bucket in owners & set(buckets)))
        name = function["FunctionName"].removeprefix("messaging-")
        invokes[name] = set().union(*(reads.get(queue, set()) for queue in reached))
    for function in functions:
        name = function["FunctionName"].removeprefix("messaging-")
        chain, new = set(), invokes[name]
        while new - chain:
            chain |= new
            new = set().union(*(invokes[one] for one in new))
        wanted = "Allow" if name in chain else None
        if function.get("RecursiveLoop") != wanted:
            yield f"{name} {'sends to a queue that invokes it' if wanted else 'is in no loop'}, and its RecursiveLoop is {function.get('RecursiveLoop')}"


@invariant
def each_queue_has_a_width_of_its_own(template):
    stack = Stack(template, **{name: str(width) for width, name in enumerate(WIDTHS.values(), start=3)})
    queues = {
        stack.resources[mapping["EventSourceArn"]["Fn::GetAtt"][0]]["Properties"]["QueueName"]: mapping.get("ScalingConfig")
        for mapping in stack.of_type("AWS::Lambda::EventSourceMapping").values()
        if mapping["EventSourceArn"]["Fn::GetAtt"][1] == "Arn"
    }
    wanted = {f"messaging-{queue}": {"MaximumConcurrency": str(width)} for width, queue in enumerate(WIDTHS, start=3)}
    if queues != wanted:
        yield f"the widths of the queues are {queues}, not {wanted}"
    for name in WIDTHS.values():
        spec = template["Parameters"][name]
        if (spec.get("MinValue"), spec.get("MaxValue")) != (2, 1000):
            yield f"{name} allows values that Lambda refuses"


@invariant
def batches_fail_item_by_item(template):
    for name, mapping in Stack(template).of_type("AWS::Lambda::EventSourceMapping").items():
        if mapping.get("FunctionResponseTypes") != ["ReportBatchItemFailures"]:
            yield f"{name} does not report partial failures"


@invariant
def a_record_that_fails_for_good_goes_to_the_failure_bucket(template):
    stack = Stack(template)
    waits = int(re.search(r"const WAITS: Duration = Duration::from_secs\((\d+)\)", RELAY.read_text())[1])
    timeout = stack.resources["EventRelayFunction"]["Properties"]["Timeout"]
    if timeout < 3 * waits:
        yield f"the relay is stopped after {timeout} s, within the last try after waits of {waits} s"
    for name, mapping in _stream_mappings(stack):
        target = ((mapping.get("DestinationConfig") or {}).get("OnFailure") or {}).get("Destination") or {}
        bucket = (target.get("Fn::GetAtt") or [None])[0]
        if bucket not in stack.of_type("AWS::S3::Bucket"):
            yield f"{name} loses records: no bucket on failure"
        if mapping.get("BisectBatchOnFunctionError") is not True:
            yield f"{name} does not bisect: one bad record fails its whole batch"
        # A try that fails because of a table takes at least as long as the relay itself tries again. So an outage uses up
        # the age first. A record that can never be relayed fails at once: it uses up the tries, and must not wait for ever.
        tries, age = mapping.get("MaximumRetryAttempts", -1), mapping.get("MaximumRecordAgeInSeconds", -1)
        if not age / waits <= tries <= 2 * age / waits:
            yield f"{name} gives a record up after {tries} tries, of which an outage of {age} s uses {age // waits}"
        # Records behind a failing record are younger, so the stream still has them when the relay gives up on it.
        if not 60 <= mapping.get("MaximumRecordAgeInSeconds", -1) <= FORGOTTEN_AFTER_SECONDS / 2:
            yield f"{name} retries a record until the stream drops the records behind it"


@invariant
def what_cannot_be_processed_is_put_into_quarantine_and_nothing_else_there_is_read(template):
    stack = Stack(template)
    for role in ("ProviderEventsRole", "InboxRole"):
        statements = [
            (_list(statement["Action"]), statement["Resource"])
            for statement in _statements(stack.resources[role]["Properties"])
            if any(_owner(resource) == "FailureBucket" for resource in _list(statement["Resource"]))
        ]
        if len(statements) != 1 or statements[0][0] != ["s3:PutObject"] or "/inbound/*" not in json.dumps(statements[0][1]):
            yield f"{role} may {statements} in the failure bucket"
    last = int(re.search(r"const LAST: u32 = (\d+)", (ROOT / "functions/inbox/src/repeats.rs").read_text())[1])
    receives = stack.resources["InboxQueue"]["Properties"]["RedrivePolicy"]["maxReceiveCount"]
    if last != receives:
        yield f"the inbox puts an item into quarantine at receive {last}, and the queue gives it up after {receives}"


@invariant
def the_relay_looks_at_the_failure_bucket_once_an_hour(template):
    stack = Stack(template)
    rules = [rule for rule in stack.of_type("AWS::Events::Rule").values() if rule["ScheduleExpression"] == "rate(1 hour)"]
    if [_name_of(_called(stack, target["Arn"])) for rule in rules for target in rule["Targets"]] != ["event-relay"]:
        yield "nothing relays what lies in the failure bucket"
    role = stack.resources["EventRelayRole"]["Properties"]
    allowed = {
        action
        for statement in _statements(role)
        if any(_owner(resource) == "FailureBucket" for resource in _list(statement["Resource"]))
        for action in _list(statement["Action"])
    }
    if allowed != {"s3:ListBucket", "s3:GetObject", "s3:PutObject", "s3:DeleteObject"}:
        yield f"the relay may {sorted(allowed)} in the failure bucket"


@invariant
def the_relay_is_watched_long_before_it_gives_anything_up(template):
    stack = Stack(template, Stage="production")
    given_up = min(mapping["MaximumRecordAgeInSeconds"] for _, mapping in _stream_mappings(stack))
    ages = {
        name: alarm["Threshold"] / 1000
        for name, alarm in stack.of_type("AWS::CloudWatch::Alarm").items()
        if alarm["MetricName"] in ("IteratorAge", "RelayLag")
    }
    if not any(age <= 60 for age in ages.values()):
        yield "no alarm reports that the relay is late"
    if not any(given_up / 4 <= age <= given_up / 2 for age in ages.values()):
        yield f"no alarm reports in time that the relay will give up on records that are {given_up} s old"
    for name, age in ages.items():
        if age > given_up / 2:
            yield f"{name} fires when the relay is {age} s behind, which is too late"


@invariant
def the_relay_names_the_records_that_failed_unless_told_otherwise(template):
    for parameters, wanted in (({}, "true"), ({"PartialBatches": "false"}, "false")):
        stack = Stack(template, **parameters)
        given = stack.resources["EventRelayFunction"]["Properties"]["Environment"]["Variables"].get("PARTIAL_BATCHES")
        if given != wanted:
            yield f"with {parameters} the relay has PARTIAL_BATCHES {given}"


@invariant
def our_own_outages_are_told_by_a_url_of_the_operators_choice(template):
    for parameters, wanted in (
        ({}, ""), # webhook-delivery uses the URL of its queue
        ({"EgressControlUrl": "https://status.example.com/"}, "https://status.example.com/"),
    ):
        stack = Stack(template, **parameters)
        given = stack.resources["WebhookDeliveryFunction"]["Properties"]["Environment"]["Variables"].get("EGRESS_CONTROL_URL")
        if given != wanted:
            yield f"with {parameters} webhook-delivery has EGRESS_CONTROL_URL {given}"
    pattern = template["Parameters"]["EgressControlUrl"]["AllowedPattern"]
    for value, taken in (
        ("", True),
        ("https://status.example.com", True),
        ("http://192.0.2.1:8080/path?query", True),
        ("status.example.com", False),
        ("ftp://status.example.com", False),
        ("https://user@status.example.com", False),
        ("https://status.example.com/a b", False),
        ("https://", False),
    ):
        if bool(re.fullmatch(pattern, value)) is not taken:
            yield f"{value!r} is {'refused' if taken else 'taken'}"


@invariant
def helper_rows_never_wake_the_relay(template):
    stack = Stack(template)
    relayed = set()
    for name, mapping in _stream_mappings(stack):
        table = stack.resources[mapping["EventSourceArn"]["Fn::GetAtt"][0]]["Properties"]["TableName"].removeprefix("messaging-")
        patterns = [json.loads(entry["Pattern"]) for entry in (mapping.get("FilterCriteria") or {}).get("Filters", [])]
        relayed.add(table)
        if patterns != RELAYED.get(table):
            yield f"{name} passes other rows than those of entities"
    if relayed != set(RELAYED):
        yield f"the relay reads the streams of {sorted(relayed)}"


@invariant
def a_visit_fits_into_its_function_and_that_into_its_lease(template):
    for names, least in (
        (("AttemptTimeoutSeconds", "DeliveryTimeoutSeconds", "LeaseSeconds"), 80),
        (("SendTimeoutSeconds", "SenderTimeoutSeconds", "SendLeaseSeconds"), 20),
    ):
        parameters = template["Parameters"]
        if any("AllowedValues" not in parameters[name] for name in names):
            yield f"one of {names} has no AllowedValues, so rules cannot compare it"
            continue
        accepted, of_each = 0, {name: set() for name in names}
        for values in itertools.product(*(parameters[name]["AllowedValues"] for name in names)):
            call, function, lease = map(int, values)
            fits = READ_SECONDS + call + RECORD_SECONDS <= function and function + LEASE_MARGIN_SECONDS <= lease
            stack = _with_values(template, dict(zip(names, map(str, values))))
            if not stack.refused_by():
                accepted += 1
                for name, value in zip(names, values):
                    of_each[name].add(value)
                if not fits:
                    yield f"{names} accept {values}, which do not fit"
            elif fits:
                yield f"{names} refuse {values}, which fit"
        if accepted < least:
            yield f"only {accepted} combinations of {names} are accepted"
        for name, values in of_each.items():
            if values != set(parameters[name]["AllowedValues"]):
                yield f"{name} allows {set(parameters[name]['AllowedValues']) - values}, which no accepted combination has"
    if Stack(template).refused_by():
        yield "the rules refuse the defaults"


@invariant
def the_sweeper_runs_every_minute_and_is_not_repeated(template):
    stack = Stack(template)
    rules = [rule for rule in stack.of_type("AWS::Events::Rule").values() if rule["ScheduleExpression"] == "rate(1 minute)"]
    targets = [_called(stack, target["Arn"]) for rule in rules for target in rule["Targets"]]
    if [_name_of(target) for target in targets] != ["sweeper"]:
        yield "the sweeper is not called every minute"
    attempts = [
        config.get("MaximumRetryAttempts")
        for config in stack.of_type("AWS::Lambda::EventInvokeConfig").values()
        if _called(stack, config["FunctionName"]) in targets and config["Qualifier"] == "live"
    ]
    if attempts != [0]:
        yield "a failed run of the sweeper is retried, although the next run does the same"


# --- Rights --------------------------------------------------------------------------------------------------------


@invariant
def no_role_has_a_wildcard(template):
    stack = _with_everything(template)
    for name, role in stack.of_type("AWS::IAM::Role").items():
        if role.get("ManagedPolicyArns", []) != MANAGED.get(name, []):
            yield f"{name} has managed policies, which are wide"
    policies = stack.of_type("AWS::IAM::Policy")
    for name, statement in (
        *((name, statement) for name, role in stack.of_type("AWS::IAM::Role").items() for statement in _statements(role)),
        *((name, statement) for name, policy in policies.items() for statement in policy["PolicyDocument"]["Statement"]),
    ):
        for action in _list(statement["Action"]):
            if "*" in action or action.split(":")[1] == "Scan" or "PartiQL" in action:
                yield f"{name} allows {action}"
        if set(_list(statement["Action"])) == TRACING_RIGHTS:
            continue
        for resource in _list(statement["Resource"]):
            reaches = ROLLOUT_CHECK_REACHES.get(str(statement["Action"])) if name == "RolloutCheckRole" else None
            if reaches and re.fullmatch(reaches, resource):
                continue
            if isinstance(resource, str) and not re.fullmatch(r"(arn:|\$\{)[^*]*(/\*)?", resource):
                yield f"{name} allows access to {resource}"
            if resource == "*" or "NotResource" in statement or "NotAction" in statement:
                yield f"{name} allows access to everything"


@invariant
def each_function_has_a_role_of_its_own(template):
    stack = Stack(template)
    roles = [json.dumps(function["Role"]) for function in stack.of_type("AWS::Lambda::Function").values()]
    if len(set(roles)) != len(roles):
        yield "two functions share a role"
    trusts = {json.dumps(role["AssumeRolePolicyDocument"]) for role in stack.of_type("AWS::IAM::Role").values()}
    if any("lambda.amazonaws.com" not in trust or '"AWS"' in trust for trust in trusts):
        yield "another principal than Lambda may assume a role"
    rollout = Stack(template, Stage="production").of_type("AWS::IAM::Role").get("RolloutRole", {})
    principals = [statement["Principal"] for statement in rollout.get("AssumeRolePolicyDocument", {}).get("Statement", [])]
    if principals != [{"Service": "codedeploy.amazonaws.com"}] or rollout.get("Policies"):
        yield "another principal than CodeDeploy may roll out, or it may do more"


@invariant
def all_roles_may_trace_where_that_is_asked_for(template):
    wanted = {"Effect": "Allow", "Action": ["xray:PutTraceSegments", "xray:PutTelemetryRecords"], "Resource": "*"}
    for choice, expected in (("off", []), ("on", [wanted])):
        stack = Stack(template, Tracing=choice)
        roles = stack.of_type("AWS::IAM::Role")
        for function in stack.of_type("AWS::Lambda::Function").values():
            name = function["Role"]["Fn::GetAtt"][0]
            found = [one for one in _statements(roles[name]) if any(act.startswith("xray:") for act in _list(one["Action"]))]
            if found != expected:
                yield f"with Tracing {choice} {name} may {found}"


@invariant
def what_a_service_checks_is_created_before(template):
    for stack in (Stack(template), _with_everything(template)):
        yield from unchecked(stack)


@invariant
def all_roles_may_use_the_key_of_the_data_for_that_data(template):
    wanted = {
        "Effect": "Allow",
        "Action": ["kms:Decrypt", "kms:GenerateDataKey"],
        "Resource": KEY,
        "Condition": {
            "StringEquals": {"kms:ViaService": [f"{service}.eu-west-1.amazonaws.com" for service in ("dynamodb", "sqs", "s3")]}
        },
    }
    for parameters, expected in (({}, []), ({"DataKmsKeyArn": KEY}, [wanted])):
        for name, role in Stack(template, **parameters).of_type("AWS::IAM::Role").items():
            found = [statement for statement in _statements(role) if "kms:GenerateDataKey" in _list(statement["Action"])]
            services = {action.split(":")[0] for statement in _statements(role) for action in _list(statement["Action"])}
            # The portal's role reads no data.
            if found != (expected if services & {"dynamodb", "sqs", "s3"} else []):
                yield f"with {parameters} {name} has the statements {found}"


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
            yield f"{name} has access to {sorted(touched)}, not {sorted(allowed)}"


@invariant
def secrets_and_settings_are_reached_by_their_keys_only(template):
    stack = _with_everything(template)
    tables = {name: table["TableName"].removeprefix("messaging-") for name, table in stack.of_type("AWS::DynamoDB::Table").items()}
    found = {}
    for function in stack.of_type("AWS::Lambda::Function").values():
        name = function["FunctionName"].removeprefix("messaging-")
        for statement in _statements(stack.resources[function["Role"]["Fn::GetAtt"][0]]["Properties"]):
            if {"dynamodb:GetRecords", "dynamodb:ListStreams"} & set(_list(statement["Action"])):
                continue  # a stream has no keys: the filter of its mapping decides (helper_rows_never_wake_the_relay)
            keys = {
                key
                for operator in ("ForAllValues:StringEquals", "ForAllValues:StringLike")
                for key in statement.get("Condition", {}).get(operator, {}).get("dynamodb:LeadingKeys", [])
            }
            for resource in _list(statement["Resource"]):
                place = (name, tables.get(_owner(resource)))
                if place in LEADING_KEYS or place[1] in ("secrets", "workspaces"):
                    found.setdefault(place, set()).update(keys or {"any"})
    for place in sorted(set(found) | set(LEADING_KEYS)):
        if found.get(place) != LEADING_KEYS.get(place):
            yield f"{place[0]} has access to {found.get(place)} in {place[1]}, not {LEADING_KEYS.get(place)}"


@invariant
def audit_entries_are_only_added(template):
    stack = _with_everything(template)
    for function in stack.of_type("AWS::Lambda::Function").values():
        name = function["FunctionName"].removeprefix("messaging-")
        for statement in _statements(stack.resources[function["Role"]["Fn::GetAtt"][0]]["Properties"]):
            if "AuditTable" not in {_owner(resource) for resource in _list(statement["Resource"])}:
                continue
            actions = set(_list(statement["Action"]))
            if actions - {"dynamodb:Query", "dynamodb:PutItem"}:
                yield f"{name} may {sorted(actions)} entries of the audit log"
            enclosing = statement.get("Condition", {}).get("ForAnyValue:StringEquals", {}).get("dynamodb:EnclosingOperation")
            if "dynamodb:PutItem" in actions and (actions != {"dynamodb:PutItem"} or enclosing != ["TransactWriteItems"]):
                yield f"{name} may write an entry of the audit log without its change"


@invariant
def settings_put_secrets_that_they_cannot_read(template):
    stack = _with_everything(template)
    for statement in _statements(stack.resources["AttributesRole"]["Properties"]):
        if "SecretsTable" in {_owner(resource) for resource in _list(statement["Resource"])}:
            if actions := set(_list(statement["Action"])) - {"dynamodb:PutItem"}:
                yield f"attributes may {sorted(actions)} secrets"


# --- Data ----------------------------------------------------------------------------------------------------------


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
                    yield f"{name} is not deleted with a development stack ({policy})"
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
            yield f"{name} does not have the keys pk and sk"
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
def a_key_of_the_operator_encrypts_all_data_or_none(template):
    for key in (None, KEY):
        stack = Stack(template, **({"DataKmsKeyArn": key} if key else {}))
        used = {name: table.get("SSESpecification", {}).get("KMSMasterKeyId") for name, table in stack.of_type("AWS::DynamoDB::Table").items()}
        if used.pop("SecretsTable") is not None:
            yield "the table of secrets must not use the key of the data"
        for name, queue in stack.of_type("AWS::SQS::Queue").items():
            if name in TOLD_BY_S3:
                if "KmsMasterKeyId" in queue:
                    yield f"{name} has a key that S3 may not use"
                continue
            used[name] = queue.get("KmsMasterKeyId")
            if key and "SqsManagedSseEnabled" in queue:
                yield f"{name} has two kinds of encryption, which SQS does not accept"
        for name, bucket in stack.of_type("AWS::S3::Bucket").items():
            (rule,) = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
            default = rule["ServerSideEncryptionByDefault"]
            used[name] = default.get("KMSMasterKeyID")
            if default["SSEAlgorithm"] != ("aws:kms" if key else "AES256"):
                yield f"{name} is encrypted by {default['SSEAlgorithm']}"
        for name, found in used.items():
            if found != key:
                yield f"{name} is encrypted with {found}, not with {key}"


@invariant
def tables_are_capped_where_asked_for(template):
    for parameters, wanted in (
        ({}, None),
        ({"TableReadCap": "9"}, {"MaxReadRequestUnits": "9"}),
        ({"TableReadCap": "9", "TableWriteCap": "5"}, {"MaxReadRequestUnits": "9", "MaxWriteRequestUnits": "5"}),
    ):
        for name, table in Stack(template, **parameters).of_type("AWS::DynamoDB::Table").items():
            # DynamoDB does not apply the cap of a table to its indexes.
            for part in (table, *table.get("GlobalSecondaryIndexes", [])):
                if part.get("OnDemandThroughput") != wanted:
                    of = part.get("IndexName", "the table")
                    yield f"with {parameters} {of} of {name} is capped at {part.get('OnDemandThroughput')}"


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
            yield f"{name} keeps the parts of incomplete uploads"


@invariant
def browsers_may_only_put_to_the_media_bucket(template):
    stack = Stack(template, UploadOrigins=["https://a.example", "https://b.example"])
    rules = stack.resources["MediaBucket"]["Properties"].get("CorsConfiguration", {}).get("CorsRules", [])
    expected = {"AllowedMethods": ["PUT"], "AllowedOrigins": ["https://a.example", "https://b.example"]}
    if [{key: rule[key] for key in expected} for rule in rules] != [expected]:
        yield "the media bucket's CORS rule does not allow exactly PUT from the origins in the parameter"
    for rule in rules:
        if {"content-type", "content-length", "x-amz-checksum-sha256"} != set(rule["AllowedHeaders"]):
            yield "the allowed headers are not exactly the signed headers of an upload"


@invariant
def every_upload_is_told_and_only_s3_may_tell_it(template):
    stack = Stack(template)
    told = stack.resources["MediaBucket"]["Properties"].get("NotificationConfiguration")
    wanted = [{"Event": "s3:ObjectCreated:*", "Queue": {"Fn::GetAtt": ["UploadQueue", "Arn"]}}]
    if told != {"QueueConfigurations": wanted}:
        yield f"the media bucket notifies {told}"
    allowed = [
        statement
        for policy in stack.of_type("AWS::SQS::QueuePolicy").values()
        for statement in policy["PolicyDocument"]["Statement"]
    ]
    if allowed != [
        {
            "Effect": "Allow",
            "Principal": {"Service": "s3.amazonaws.com"},
            "Action": "sqs:SendMessage",
            "Resource": {"Fn::GetAtt": ["UploadQueue", "Arn"]},
            "Condition": {"StringEquals": {"aws:SourceAccount": "123456789012"}},
        }
    ]:
        yield f"the policies of queues allow {allowed}"


@invariant
def data_is_kept_as_the_parameters_say(template):
    days = dict(re.findall(r"const (LONGEST\w*): \w+ = (?:days\()?([\d_]+)", RETENTION.read_text()))
    longest = {name: int(number.replace("_", "")) for name, number in days.items()}
    for name, (least, default, most, functions) in RETENTIONS.items():
        spec = template["Parameters"][name]
        if (spec["MinValue"], spec["Default"], spec["MaxValue"]) != (least, default, longest[most]):
            yield f"{name} allows other days than the code, or has another default"
        variable = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()
        stack = Stack(template, **{name: "77"})
        given = {
            function["FunctionName"].removeprefix("messaging-")
            for function in stack.of_type("AWS::Lambda::Function").values()
            if function["Environment"]["Variables"].get(variable) == "77"
        }
        if given != functions:
            yield f"{name} reaches {sorted(given)}, not the functions that write such rows: {sorted(functions)}"


# --- Functions and routes ------------------------------------------------------------------------------------------


@invariant
def functions_and_their_environment_are_the_agreed_ones(template):
    stack = Stack(template)
    found = {}
    for function in stack.of_type("AWS::Lambda::Function").values():
        found[function["FunctionName"]] = function
        if function["Runtime"] != "provided.al2023" or function["Architectures"] != ["arm64"]:
            yield f"{function['FunctionName']} does not have the runtime and architecture of the build"
    if set(found) != {f"messaging-{name}" for name in FUNCTIONS}:
        yield f"the functions are {sorted(found)}"
    for name, function in found.items():
        variables = set(function["Environment"]["Variables"])
        expected = COMMON_ENVIRONMENT | FUNCTIONS.get(name.removeprefix("messaging-"), (set(), set()))[0]
        if variables != expected:
            yield f"the environment of {name} has or lacks {sorted(variables ^ expected)}, unlike the agreed one"


@invariant
def concurrency_is_reserved_where_asked_for(template):
    stack = Stack(template, **{name: str(number) for number, name in enumerate(RESERVES, start=101)})
    wanted = {function: str(number) for number, functions in enumerate(RESERVES.values(), start=101) for function in functions}
    for stack, wanted in ((Stack(template), {}), (stack, wanted)):
        found = {
            function["FunctionName"].removeprefix("messaging-"): function["ReservedConcurrentExecutions"]
            for function in stack.of_type("AWS::Lambda::Function").values()
            if "ReservedConcurrentExecutions" in function
        }
        if found != wanted:
            yield f"the reserved concurrency is {found}, not {wanted}"


@invariant
def the_recommended_reservations_fit_their_accounts(template):
    parameters = template["Parameters"]
    reserved = {10: 0, 1000: 0}
    for name, functions in RESERVES.items():
        described = {
            int(account.replace(",", "")): int(number)
            for account, number in re.findall(r"In an account of ([\d,]+): (\d+)", parameters[name]["Description"])
        }
        if set(described) != set(reserved):
            yield f"{name} recommends numbers for accounts of {sorted(described)}"
            continue
        for account, number in described.items():
            reserved[account] += number * len(functions)
        least = {
            "DeliveryReservedConcurrency": parameters["DeliveryConcurrency"]["Default"] + parameters["SlowDeliveryConcurrency"]["Default"],
            "SenderReservedConcurrency": max(parameters[name]["Default"] for name in ("SendConcurrency", "LeadConcurrency")),
            "InboundReservedConcurrency": parameters["InboxConcurrency"]["Default"],
        }.get(name, 1)
        if described[1000] < least:
            yield f"{name} recommends {described[1000]}, less than its queues may use"
    for account, number in reserved.items():
        if number > max(account - UNRESERVED, 0):
            yield f"{number} are recommended to be reserved in an account of {account}"


@invariant
def requests_are_traced_where_asked_for(template):
    for choice, mode, traced in (("off", "PassThrough", False), ("on", "Active", True)):
        stack = Stack(template, Tracing=choice)
        modes = {function["TracingConfig"]["Mode"] for function in stack.of_type("AWS::Lambda::Function").values()}
        stages = {stage.get("TracingEnabled", False) for stage in stack.of_type("AWS::ApiGateway::Stage").values()}
        if (modes, stages) != ({mode}, {traced}):
            yield f"with Tracing {choice} the functions have {modes} and the stages have {stages}"
    if template["Parameters"]["Tracing"]["Default"] != "off":
        yield "tracing is on by default"


@invariant
def tenants_choose_trusted_receivers_only_where_allowed(template):
    receiver = "https://hooks.internal.example:8443"
    for given, expected in (({}, ""), ({"SelfServiceTrustedReceivers": "no"}, ""), ({"SelfServiceTrustedReceivers": "yes"}, receiver)):
        functions = Stack(template, TrustedReceivers=receiver, **given).of_type("AWS::Lambda::Function")
        found = functions["EndpointsFunction"]["Environment"]["Variables"]["TRUSTED_RECEIVERS"]
        if found != expected:
            yield f"with {given} tenants choose {found!r} of the trusted receivers"


@invariant
def a_trusted_receiver_is_an_origin_without_userinfo(template):
    pattern = template["Parameters"]["TrustedReceivers"]["AllowedPattern"]
    for value, taken in (
        ("", True),
        ("https://hooks.internal.example", True),
        ("https://hooks.internal.example:8443,https://10.0.0.1", True),
        ("https://[fd00::1]:8443", True),
        ("http://hooks.internal.example", False),
        ("https://user@hooks.internal.example", False),
        ("https://@hooks.internal.example", False),
        ("https://hooks.internal.example/path", False),
        ("https://hooks.internal.example?query", False),
        ("https://hooks.internal.example#fragment", False),
        ("https://hooks.internal.example\\path", False),
        ("https://a.example, https://b.example", False),
        ("https://a.example,", False),
        ("https://a.example:", False),
        ("https://a.example:0", False),
        ("https://a.example:70000", False),
        ("https://a.example/", False),
        ("https://a%2eexample", False),
        ("https://", False),
    ):
        if bool(re.fullmatch(pattern, value)) is not taken:
            yield f"{value!r} is {'refused' if taken else 'taken'}"


# --- Rollouts ------------------------------------------------------------------------------------------------------


@invariant
def new_versions_take_over_gradually_where_it_matters(template):
    for stage, choice, wanted in (
        ("production", "auto", "Canary10Percent5Minutes"),
        ("staging", "auto", "Canary10Percent5Minutes"),
        ("development", "auto", None),
        ("production", "AllAtOnce", None),
        ("development", "Linear10PercentEvery1Minute", "Linear10PercentEvery1Minute"),
    ):
        stack = Stack(template, Stage=stage, Rollout=choice)
        groups = stack.of_type("AWS::CodeDeploy::DeploymentGroup")
        if wanted is None:
            kinds = {resource["Type"] for resource in stack.resources.values()}
            if "RolloutRole" in stack.resources or any(kind.startswith("AWS::CodeDeploy::") for kind in kinds):
                yield f"Rollout {choice} in {stage} has CodeDeploy, which the local stack does not support"
            continue
        configurations = [group["DeploymentConfigName"] for group in groups.values()]
        if configurations != [f"CodeDeployDefault.Lambda{wanted}"] * len(FUNCTIONS):
            yield f"Rollout {choice} in {stage} has the configurations {configurations}"
        for alias in stack.of_type("AWS::Lambda::Alias"):
            policy = stack.resources[alias].get("UpdatePolicy", {}).get("CodeDeployLambdaAliasUpdate", {})
            if policy.get("DeploymentGroupName", {}).get("Ref") not in groups:
                yield f"CodeDeploy does not update {alias}"
    choices = set(template["Parameters"]["Rollout"]["AllowedValues"])
    if choices != set(template["Mappings"]["Rollouts"]):
        yield "the mapping Rollouts does not have exactly the allowed values of Rollout"


@invariant
def a_rollout_that_raises_an_alarm_is_taken_back(template):
    for parameters in ({"Stage": "production"}, {"Rollout": "Canary10Percent30Minutes"}, {"Stage": "staging", "Alarms": "off"}):
        stack = Stack(template, **parameters)
        alarms = stack.of_type("AWS::CloudWatch::Alarm")
        for name, group in stack.of_type("AWS::CodeDeploy::DeploymentGroup").items():
            function = name.removesuffix("DeploymentGroup")
            asked = [alarm["Name"].get("Ref") for alarm in group.get("AlarmConfiguration", {}).get("Alarms", [])]
            if len(asked) < 2 or not set(asked) <= set(alarms):
                yield f"{name} has the alarms {asked}"
                continue
            version = next(name for name in stack.of_type("AWS::Lambda::Version") if name.startswith(f"{function}Version"))
            dimensions = {
                "FunctionName": {"Ref": function},
                "Resource": f"${{{function}}}:live",
                "ExecutedVersion": {"Fn::GetAtt": [version, "Version"]},
            }
            if not any(_dimensions(alarms[alarm]) == dimensions and alarms[alarm]["MetricName"] == "Errors" for alarm in asked):
                yield f"{name} has no alarm for the errors of the new version"
            if group["AutoRollbackConfiguration"]["Enabled"] is not True or "DEPLOYMENT_STOP_ON_ALARM" not in group["AutoRollbackConfiguration"]["Events"]:
                yield f"{name} has no automatic rollback"


@invariant
def everything_calls_the_alias(template):
    stack = Stack(template)
    aliases = stack.of_type("AWS::Lambda::Alias")
    if [alias["Name"] for alias in aliases.values()] != ["live"] * len(FUNCTIONS):
        yield f"the aliases are {sorted(aliases)}"
    references = {
        **{name: mapping["FunctionName"] for name, mapping in stack.of_type("AWS::Lambda::EventSourceMapping").items()},
        **{name: allowed["FunctionName"] for name, allowed in stack.of_type("AWS::Lambda::Permission").items()},
        **{name: target["Arn"] for name, rule in stack.of_type("AWS::Events::Rule").items() for target in rule["Targets"]},
    }
    for name, reference in references.items():
        if reference.get("Ref") not in aliases:
            yield f"{name} does not call an alias"
    for api, definition in stack.of_type("AWS::ApiGateway::RestApi").items():
        for called in re.findall(r"functions/\$\{(\w+)", json.dumps(definition["Body"])):
            if called not in aliases:
                yield f"{api} calls {called}, which is not an alias"


@invariant
def a_changed_parameter_publishes_a_version(template):
    shared = template["Globals"]["Function"]
    for name, resource in template["Resources"].items():
        if resource["Type"] != "AWS::Serverless::Function":
            continue
        properties = resource["Properties"]
        if properties.get("AutoPublishAliasAllProperties") is not True:
            yield f"{name} keeps its old settings when the template changes"
        parts = [part.get(key) for part in (shared, properties) for key in ("Architectures", "Environment", "MemorySize", "Timeout", "Tracing")]
        used = set().union(*(_parameters(template, part) for part in parts))
        told = set(re.findall(r"\$\{(\w+)}", properties.get("VersionDescription", {}).get("Fn::Sub", "")))
        # A parameter in the description that is not used would request a version that exists already, which fails.
        if told != used - NOT_TOLD_BY_VERSIONS or "Revision" not in told:
            yield f"{name} is published when one of {sorted(told)} changes, but uses {sorted(used)}"


@invariant
def a_new_version_is_tried_before_it_gets_traffic(template):
    stack = Stack(template, Stage="production")
    checks = {name: one for name, one in stack.of_type("AWS::Lambda::Function").items() if one["FunctionName"] == ROLLOUT_CHECK}
    if len(checks) != 1:
        yield f"the checks are {sorted(checks)}"
        return
    ((name, check),) = checks.items()
    versions = {f"${{{version}}}" for version in stack.of_type("AWS::Lambda::Version")}
    if set(check["Environment"]["Variables"]["VERSIONS"].split()) != versions:
        yield f"{name} does not try all versions"
    for alias in stack.of_type("AWS::Lambda::Alias"):
        update = stack.resources[alias].get("UpdatePolicy", {}).get("CodeDeployLambdaAliasUpdate", {})
        if update.get("BeforeAllowTrafficHook") != {"Ref": name}:
            yield f"{alias} moves without a check"
    called = {
        resource.rsplit(":", 2)[1]
        for statement in _statements(stack.resources[check["Role"]["Fn::GetAtt"][0]]["Properties"])
        if statement["Action"] == "lambda:InvokeFunction"
        for resource in _list(statement["Resource"])
    }
    if called != {f"messaging-{function}" for function in FUNCTIONS}:
        yield f"{name} may call {sorted(called)}"
    if any(one["FunctionName"] == ROLLOUT_CHECK for one in Stack(template).of_type("AWS::Lambda::Function").values()):
        yield "there is a check without gradual rollouts"


@invariant
def earlier_versions_remain(template):
    stack = Stack(template)
    for name in stack.of_type("AWS::Lambda::Version"):
        policies = [stack.resources[name].get(policy) for policy in ("DeletionPolicy", "UpdateReplacePolicy")]
        if policies != ["Retain", "Retain"]:
            yield f"{name} is deleted when another takes over: {policies}"


# --- Alarms --------------------------------------------------------------------------------------------------------


@invariant
def alarms_exist_where_they_are_wanted(template):
    for stage, choice, rollout, wanted in (
        ("development", "auto", "auto", False),
        ("development", "on", "auto", True),
        ("development", "off", "Canary10Percent5Minutes", True), # the rollout needs the alarms
        ("staging", "auto", "AllAtOnce", True),
        ("production", "auto", "auto", True),
        ("production", "off", "AllAtOnce", False),
    ):
        stack = Stack(template, Stage=stage, Alarms=choice, Rollout=rollout)
        found = [bool(stack.of_type(kind)) for kind in ("AWS::CloudWatch::Alarm", "AWS::CloudWatch::Dashboard")]
        found.append("MetricsConfigurations" in stack.resources["FailureBucket"]["Properties"])
        if found != [wanted] * 3:
            yield f"Alarms {choice} with Rollout {rollout} in {stage}: {found}"
    if [template["Parameters"][name]["Default"] for name in ("Alarms", "Rollout")] != ["auto", "auto"]:
        yield "the defaults do not depend on the stage"


@invariant
def alarms_tell_the_topic_and_know_what_silence_means(template):
    for topic in (None, TOPIC):
        stack = Stack(template, Stage="production", **({"AlarmTopicArn": topic} if topic else {}))
        names = [alarm["AlarmName"] for alarm in stack.of_type("AWS::CloudWatch::Alarm").values()]
        if len(set(names)) != len(names) or not all(name.startswith("messaging-") for name in names):
            yield "two alarms have the same name, or a name lacks the prefix of the stack"
        for name, alarm in stack.of_type("AWS::CloudWatch::Alarm").items():
            told = [alarm.get("AlarmActions"), alarm.get("OKActions")]
            if told != ([[topic], [topic]] if topic else [None, None]):
                yield f"{name} notifies {told}"
            if alarm["TreatMissingData"] != ("breaching" if name == "SweeperSilent" else "notBreaching"):
                yield f"{name} treats missing data as {alarm['TreatMissingData']}"
            if "Statistic" in alarm and "ExtendedStatistic" in alarm:
                yield f"{name} has two statistics"


@invariant
def every_function_queue_and_api_is_watched(template):
    stack = Stack(template, Stage="production")
    watched = {
        (alarm["MetricName"], json.dumps(_dimensions(alarm), sort_keys=True))
        for alarm in stack.of_type("AWS::CloudWatch::Alarm").values()
    }
    wanted = []
    for name, function in stack.of_type("AWS::Lambda::Function").items():
        if function["FunctionName"] == ROLLOUT_CHECK:
            continue
        wanted += [(metric, {"FunctionName": {"Ref": name}}) for metric in ("Errors", "Throttles")]
        if function["FunctionName"] == "messaging-event-relay":
            wanted += [(metric, {"FunctionName": {"Ref": name}}) for metric in ("IteratorAge", "DestinationDeliveryFailures")]
    for name, queue in stack.of_type("AWS::SQS::Queue").items():
        metric = "ApproximateAgeOfOldestMessage" if "RedrivePolicy" in queue else "ApproximateNumberOfMessagesVisible"
        wanted.append((metric, {"QueueName": {"Fn::GetAtt": [name, "QueueName"]}}))
    for name in ("integrations", "capture", "provider"):
        wanted += [(metric, {"ApiName": f"messaging-{name}", "Stage": "live"}) for metric in ("5XXError", "Latency")]
    for metrics in stack.resources["FailureBucket"]["Properties"].get("MetricsConfigurations", [{}]):
        wanted.append(("PutRequests", {"BucketName": {"Ref": "FailureBucket"}, "FilterId": metrics.get("Id")}))
    for metric, dimensions in wanted:
        if (metric, json.dumps(dimensions, sort_keys=True)) not in watched:
            yield f"no alarm watches {metric} of {dimensions}"


@invariant
def what_alarms_and_dashboard_count_is_counted(template):
    stack = Stack(template, Stage="production")
    names = {function["FunctionName"] for function in stack.of_type("AWS::Lambda::Function").values()}
    names |= {queue["QueueName"] for queue in stack.of_type("AWS::SQS::Queue").values()}
    counted = _counted()
    named = []
    for name, alarm in stack.of_type("AWS::CloudWatch::Alarm").items():
        if alarm["Namespace"] == "MessagingIntegrations":
            named.append((name, alarm["MetricName"], _dimensions(alarm)))
    for name, dashboard in stack.of_type("AWS::CloudWatch::Dashboard").items():
        for widget in json.loads(dashboard["DashboardBody"])["widgets"]:
            for namespace, metric, *rest in widget["properties"]["metrics"]:
                dimensions = dict(zip(rest[::2], rest[1::2]))
                if namespace == "MessagingIntegrations":
                    named.append((name, metric, dimensions))
                elif {dimensions.get(key) for key in ("FunctionName", "QueueName")} - {None} - names:
                    yield f"{name} shows {dimensions}, which the stack does not have"
    for name, metric, dimensions in named:
        by = {key: value for key, value in dimensions.items() if key != "Stack"}
        if dimensions.get("Stack") != "messaging" or by not in counted.get(metric, []):
            yield f"{name} uses {metric} by {by}, which no function emits"
    watched = {metric for _, metric, _ in named}
    for metric in set(counted) - watched:
        yield f"no alarm and no dashboard uses {metric}, which functions emit"


@invariant
def every_alarm_has_a_runbook_and_every_runbook_an_alarm(template):
    alarms = Stack(template, Stage="production").of_type("AWS::CloudWatch::Alarm")
    pages = {}
    for name, alarm in alarms.items():
        page = re.search(r"Runbook: docs/runbooks/([\w-]+)\.md$", alarm.get("AlarmDescription", "").strip())
        if page is None:
            yield f"the description of {name} names no runbook"
        else:
            pages.setdefault(page.group(1), []).append(alarm["AlarmName"].removeprefix("messaging-"))
    index = (RUNBOOKS / "README.md").read_text()
    written = {path.stem for path in RUNBOOKS.glob("*.md")} - NO_ALARMS_RUNBOOKS
    for page in sorted(written | set(pages)):
        if page not in pages:
            yield f"no alarm names the runbook {page}"
        elif page not in written:
            yield f"the runbook {page} does not exist"
        else:
            text = (RUNBOOKS / f"{page}.md").read_text()
            for alarm in pages[page]:
                kind = re.sub("|".join(sorted(FUNCTIONS, key=len, reverse=True)), "<function>", alarm)
                if f"`<stack>-{alarm}`" not in text and f"`<stack>-{kind}`" not in text:
                    yield f"the runbook {page} does not name {alarm}"
        if f"({page}.md)" not in index:
            yield f"the index of the runbooks does not name {page}"


# --- The gateway ---------------------------------------------------------------------------------------------------


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
                yield f"{name}: {variable} contains a NoEcho parameter"
    for name, function in stack.of_type("AWS::Lambda::Function").items():
        for variable, value in function["Environment"]["Variables"].items():
            if re.search(r"SECRET|PASSWORD|CREDENTIAL|PRIVATE|API_KEY|TOKEN", variable):
                yield f"{name}: {variable} has the name of a secret"
            if re.search(r"resolve:(secretsmanager|ssm-secure)|msk_|whsec_|PRIVATE KEY", json.dumps(value)):
                yield f"{name}: the value of {variable} is a secret"


@invariant
def functions_behind_the_gateway_answer_before_it_gives_up(template):
    stack = Stack(template)
    for name in {name for routes in _routes(stack).values() for name in routes.values() if name}:
        for raw in _raw_timeouts(template, stack, name):
            if stack.largest(raw) >= 29:
                yield f"{name} may take {stack.largest(raw)} s, but the gateway waits 29 s"


@invariant
def every_function_logs_to_a_group_with_retention(template):
    stack = Stack(template)
    groups = stack.of_type("AWS::Logs::LogGroup")
    for name, function in stack.of_type("AWS::Lambda::Function").items():
        group = groups.get(function.get("LoggingConfig", {}).get("LogGroup", {}).get("Ref"))
        if group is None:
            yield f"{name} logs to a group that is not in the stack"
        elif group["LogGroupName"] != f"/aws/lambda/{function['FunctionName']}":
            yield f"{name} logs to {group['LogGroupName']}"
    for name, group in groups.items():
        if "RetentionInDays" not in group:
            yield f"{name} keeps logs for ever"


@invariant
def routes_are_listed_one_by_one(template):
    routes = _routes(Stack(template))
    if routes != ROUTES:
        yield f"the routes are {routes}"


@invariant
def the_gateway_hands_requests_on_whole_and_may_do_so(template):
    stack = Stack(template)
    allowed = sorted(
        (_name_of(_called(stack, permission["FunctionName"])), permission["SourceArn"])
        for permission in stack.of_type("AWS::Lambda::Permission").values()
        if permission["Principal"] == "apigateway.amazonaws.com"
    )
    routed = []
    for api, method, path, operation, function in _operations(stack):
        if function is None:
            continue
        integration = operation["x-amazon-apigateway-integration"]
        if (integration["type"], integration["httpMethod"]) != ("aws_proxy", "POST"):
            yield f"{api}: {method} {path} does not reach {function} unchanged"
        generic = re.sub(r"\{\w+}", "*", path)
        routed.append((function, f"arn:aws:execute-api:eu-west-1:123456789012:${{{api}}}/*/{method.upper()}{generic}"))
    if allowed != sorted(routed):
        yield f"the gateway may call {allowed}, but its routes need {sorted(routed)}"


@invariant
def the_signed_bytes_of_a_webhook_reach_the_function(template):
    stack = Stack(template)
    for api, properties in stack.of_type("AWS::ApiGateway::RestApi").items():
        wanted = ["*~1*"] if api == "ProviderApi" else None
        if properties.get("BinaryMediaTypes") != wanted:
            yield f"{api} passes {properties.get('BinaryMediaTypes')} as bytes, not {wanted}"


@invariant
def the_only_copy_of_a_piece_is_kept_for_two_weeks(template):
    queues = Stack(template).of_type("AWS::SQS::Queue")
    kept = [queues[name]["MessageRetentionPeriod"] / 86400 for name in ("InboxQueue", "InboxDeadLetterQueue")]
    if kept != [7, 14]:
        yield f"the queue and the dead letters of inbox keep messages for {kept} days"


@invariant
def a_piece_is_given_up_before_the_time_out_of_inbox(template):
    source = "".join(path.read_text() for path in INBOX_TIMES)
    milliseconds = {"secs": 1000, "millis": 1}
    times = {
        name: int(number.replace("_", "")) * milliseconds[unit]
        for name, unit, number in re.findall(r"const (\w+): Duration = Duration::from_(secs|millis)\(([\d_]+)\);", source)
    }
    if times["TABLES"] < 2 * times["OPERATION"]:
        yield "inbox keeps no time for two slow calls to tables and queue"
    given_up = sum(times[name] for name in ("BEGINS_FOR", "LIMIT", "TABLES"))
    for timeout in _raw_timeouts(template, Stack(template), "inbox"):
        if given_up + 3000 > timeout * 1000:
            yield f"inbox gives a piece up after {given_up} ms, but its time-out is {timeout} s"


@invariant
def preflights_are_answered_by_the_function(template):
    stack = Stack(template)
    operations = {(api, method, path): (operation, function) for api, method, path, operation, function in _operations(stack)}
    for (api, method, path), (_, function) in operations.items():
        if api == "CaptureApi" and method == "post" and operations.get((api, "options", path), (None, None))[1] != function:
            yield f"the preflight of {path} does not reach {function}"
    for (api, method, path), (operation, function) in operations.items():
        if method == "options" and (api != "CaptureApi" or function is None):
            yield f"{api} itself answers preflights of {path}"
        if "access-control-" in json.dumps(operation).lower():
            yield f"{api}: {method} {path} sets CORS headers, which the function sets"
    for api in stack.of_type("AWS::ApiGateway::RestApi"):
        responses = stack.resources[api]["Properties"]["Body"].get("x-amazon-apigateway-gateway-responses", {})
        if "access-control-" in json.dumps(responses).lower():
            yield f"{api}: gateway responses set CORS headers"


@invariant
def strangers_cannot_take_the_concurrency_of_all_functions(template):
    for api, prefix in LIMITED.items():
        stack = Stack(template, **{f"{prefix}RequestsPerSecond": "7", f"{prefix}Burst": "9"})
        for stage in stack.of_type("AWS::ApiGateway::Stage").values():
            if stage["RestApiId"] != {"Ref": api}:
                continue
            limits = [
                (setting["HttpMethod"], setting["ResourcePath"], setting["ThrottlingRateLimit"], setting["ThrottlingBurstLimit"])
                for setting in stage.get("MethodSettings", [])
            ]
            own = [("GET", "/~1api~1v1~1leadscout~1scripts~1{script}", "7", "9")] if api == "CaptureApi" else []
            if limits != [("*", "/*", "7", "9"), *own]:
                yield f"{api} is limited so: {limits}"


@invariant
def in_production_one_address_cannot_flood_an_api(template):
    for prefix in GUARDED.values():
        for stage, choice, wanted in (
            ("production", "auto", True),
            ("staging", "auto", False),
            ("development", "auto", False),
            ("development", "on", True),
            ("production", "off", False),
        ):
            others = {f"{other}Firewall": "off" for other in GUARDED.values()}
            stack = Stack(template, Stage=stage, **others | {f"{prefix}Firewall": choice})
            kinds = ("AWS::WAFv2::WebACL", "AWS::WAFv2::WebACLAssociation")
            if [len(stack.of_type(kind)) for kind in kinds] != [int(wanted)] * 2:
                yield f"{prefix}Firewall {choice} in {stage} gives {'no' if wanted else 'a'} web ACL"
        if template["Parameters"][f"{prefix}Firewall"]["Default"] != "auto":
            yield f"the web ACL of {prefix}Firewall is not there in production, or elsewhere too, unless asked for"


@invariant
def a_web_acl_counts_the_requests_of_an_address_to_its_api(template):
    for api, prefix in GUARDED.items():
        others = {f"{other}Firewall": "off" for other in GUARDED.values()}
        stack = Stack(template, **others | {f"{prefix}Firewall": "on", f"{prefix}RequestsPerAddress": "10"})
        stages = stack.of_type("AWS::ApiGateway::Stage")
        for name, acl in stack.of_type("AWS::WAFv2::WebACL").items():
            attached = [
                association["ResourceArn"]
                for association in stack.of_type("AWS::WAFv2::WebACLAssociation").values()
                if association["WebACLArn"] == {"Fn::GetAtt": [name, "Arn"]}
            ]
            # A reference to the stage, not its name: without it the association could come before the stage.
            ours = [
                f"arn:aws:apigateway:eu-west-1::/restapis/${{{api}}}/stages/${{{logical_id}}}"
                for logical_id, stage in stages.items()
                if stage["RestApiId"] == {"Ref": api}
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
                yield f"{name} keeps callers' addresses"


@invariant
def the_gateway_answers_in_our_shapes(template):
    stack = Stack(template)
    for surface, api in enumerate(("IntegrationsApi", "CaptureApi", "ProviderApi")):
        responses = stack.resources[api]["Properties"]["Body"].get("x-amazon-apigateway-gateway-responses", {})
        for kind, surfaces in GATEWAY_RESPONSES.items():
            status, *words = surfaces[surface]
            response = responses.get(kind, {"responseTemplates": {}})
            if surface == 0:
                body = {"title": words[1], "status": status, "code": words[0]}
                headers = {"X-Request-Id": "context.requestId"}
            elif surface == 1:
                body = {"type": f"SERVICE.CAMPAIGN_LEADS.{words[0]}", "title": words[1], "status": status}
                headers = {"Content-Type": "'application/problem+json'", "Vary": "'Origin'"}
            else:
                body = words[0]
                headers = {"Content-Type": "'text/plain; charset=utf-8'"}
            headers |= {"Cache-Control": "'no-store'", "X-Content-Type-Options": "'nosniff'"}
            if status == 429:
                headers["Retry-After"] = "'60'" if kind == "WAF_FILTERED" else "'1'"
            sent = response.get("responseParameters", {})
            if {key.removeprefix("gatewayresponse.header."): value for key, value in sent.items()} != headers:
                yield f"{api}: headers of {kind}"
            if response.get("statusCode") != str(status):
                yield f"{api}: status of {kind}"
            text = body if isinstance(body, str) else json.dumps(body, separators=(",", ":"))
            if response["responseTemplates"].get("application/json") != text:
                yield f"{api}: body of {kind}"
        for kind in set(responses) - set(GATEWAY_RESPONSES):
            yield f"{api}: {kind} is not a known gateway response"


@invariant
def requests_are_logged_by_ids_where_asked_for(template):
    for stage, choice, wanted in (
        ("development", "auto", False), ("staging", "auto", True), ("production", "auto", True),
        ("development", "on", True), ("production", "off", False),
    ):
        stack = Stack(template, Stage=stage, AccessLogs=choice)
        groups = stack.of_type("AWS::Logs::LogGroup")
        for name, found in stack.of_type("AWS::ApiGateway::Stage").items():
            setting = found.get("AccessLogSetting")
            if bool(setting) is not wanted:
                yield f"AccessLogs {choice} in {stage}: {name} has {setting}"
                continue
            if not wanted:
                continue
            line = json.loads(setting["Format"])
            used = set(re.findall(r"\$context\.([\w.]+)", setting["Format"]))
            if not {"requestId", "status", "responseLatency", "resourcePath"} <= used or line["requestId"] != "$context.requestId":
                yield f"{name} does not log id, status, latency and route"
            if used - LOGGED or not all(re.fullmatch(r"\$context\.[\w.]+", value) for value in line.values()):
                yield f"{name} logs {sorted(used - LOGGED)}"
            api = stack.resources[found["RestApiId"]["Ref"]]["Properties"]["Name"]
            group = groups.get(setting["DestinationArn"]["Fn::GetAtt"][0], {})
            if group.get("LogGroupName") != f"/aws/apigateway/{api}":
                yield f"{name} logs to {group.get('LogGroupName')}"
            if "RetentionInDays" not in group:
                yield f"{name} keeps its log for ever"
    for choice, stage, wanted in (("create", "production", 1), ("existing", "production", 0), ("create", "development", 0)):
        stack = Stack(template, Stage=stage, GatewayLogsRole=choice)
        for kind in ("AWS::ApiGateway::Account", "AWS::IAM::Role"):
            found = [name for name in stack.of_type(kind) if name.startswith("Gateway")]
            if len(found) != wanted:
                yield f"GatewayLogsRole {choice} in {stage} gives {found}"
            for name in found:
                kept = [stack.resources[name].get(policy) for policy in ("DeletionPolicy", "UpdateReplacePolicy")]
                if kept != ["Retain", "Retain"]:
                    yield f"{name} goes with the stack, though other APIs may use it"


@invariant
def one_stage_called_live(template):
    stack = Stack(template)
    stages = [stage["StageName"] for stage in stack.of_type("AWS::ApiGateway::Stage").values()]
    stages += [made["StageName"] for made in stack.of_type("AWS::ApiGateway::Deployment").values() if "StageName" in made]
    if stages != ["live"] * len(ROUTES):
        yield f"the stages are {stages}"


@invariant
def own_host_names_are_optional_and_need_a_certificate(template):
    if Stack(template).of_type("AWS::ApiGateway::DomainName"):
        yield "a host name exists by default"
    certificate = "arn:aws:acm:eu-west-1:123456789012:certificate/c"
    for parameter, output, address in (
        ("ApiDomainName", "ApiUrl", "https://api.example.com"),
        ("CaptureDomainName", "CaptureUrl", "https://api.example.com"),
        ("ProviderDomainName", "ProviderEventsUrl", "https://api.example.com"),
    ):
        stack = Stack(template, **{parameter: "api.example.com", "CertificateArn": certificate})
        domains = list(stack.of_type("AWS::ApiGateway::DomainName").values())
        mappings = list(stack.of_type("AWS::ApiGateway::BasePathMapping").values())
        if [domain["RegionalCertificateArn"] for domain in domains] != [certificate] or len(mappings) != 1:
            yield f"{parameter} creates no host name"
        if domains and domains[0]["SecurityPolicy"] != "TLS_1_2":
            yield f"{parameter} allows old TLS"
        if stack.outputs[output] != address:
            yield f"{output} does not use {parameter}"
        open_to_all = [
            name
            for name, api in stack.of_type("AWS::ApiGateway::RestApi").items()
            if not any(
                server["x-amazon-apigateway-endpoint-configuration"]["disableExecuteApiEndpoint"] is True
                for server in api["Body"].get("servers", [])
            )
        ]
        if {name for name in LIMITED if parameter != f"{LIMITED[name]}DomainName"} != set(open_to_all):
            yield f"with {parameter}, the addresses of AWS lead to {open_to_all}"
        if not Stack(template, **{parameter: "api.example.com"}).refused_by():
            yield f"{parameter} is accepted without a certificate"
    for names in itertools.combinations(("ApiDomainName", "CaptureDomainName", "ProviderDomainName"), 2):
        if not Stack(template, CertificateArn=certificate, **dict.fromkeys(names, "api.example.com")).refused_by():
            yield f"{names} are accepted with the same host name"


@invariant
def outputs_are_the_agreed_ones(template):
    outputs = set(Stack(template).outputs)
    if outputs != OUTPUTS:
        yield f"the outputs are {sorted(outputs)}"


@invariant
def production_without_a_key_for_its_secrets_is_warned(template):
    for parameters, wanted in (
        ({"Stage": "production"}, True),
        ({"Stage": "staging"}, False),
        ({"Stage": "production", "SecretsKmsKeyArn": SECRETS_KEY}, False),
    ):
        warning = Stack(template, **parameters).outputs.get("SecretsKeyWarning", "")
        if ("SecretsKmsKeyArn" in warning) is not wanted:
            yield f"with {parameters} a deployment says {warning!r} of its secrets"


# --- Reading the expanded template ---------------------------------------------------------------------------------


def _with_values(template, values):
    """A stack with rules and parameters only, without the cost of expanding resources."""
    stack = Stack.__new__(Stack)
    stack.template = template
    stack.values = {name: values.get(name, spec.get("Default")) for name, spec in template["Parameters"].items()}
    return stack


def _with_everything(template):
    """A stack in which all conditional parts exist."""
    return Stack(template, Stage="production", SecretsKmsKeyArn=SECRETS_KEY, DataKmsKeyArn=KEY, Tracing="on")


def _queue_mappings(stack):
    queues = stack.of_type("AWS::SQS::Queue")
    for mapping in stack.of_type("AWS::Lambda::EventSourceMapping").values():
        source = mapping["EventSourceArn"]["Fn::GetAtt"][0]
        if source in queues:
            yield source, _called(stack, mapping["FunctionName"])


def _called(stack, reference):
    """The function that a reference to it, or to an alias of it, calls."""
    resource = stack.resources[reference["Fn::GetAtt"][0] if "Fn::GetAtt" in reference else reference["Ref"]]
    return _called(stack, resource["Properties"]["FunctionName"]) if resource["Type"] == "AWS::Lambda::Alias" else resource


def _stream_mappings(stack):
    for name, mapping in stack.of_type("AWS::Lambda::EventSourceMapping").items():
        if mapping["EventSourceArn"]["Fn::GetAtt"][1] == "StreamArn":
            yield name, mapping


def _routes(stack):
    """Per API, (method, path) -> name of the function, or None if the gateway itself answers."""
    routes = {}
    for api, method, path, _, function in _operations(stack):
        routes.setdefault(api, {})[(method, path)] = function
    return routes


def _operations(stack):
    """API, method, path, definition, and name of the function, or None if the gateway itself answers."""
    for api, definition in stack.of_type("AWS::ApiGateway::RestApi").items():
        for path, methods in definition["Body"]["paths"].items():
            for method, operation in methods.items():
                uri = operation["x-amazon-apigateway-integration"].get("uri", "")
                target = re.search(r"functions/\$\{(\w+)(\.Arn)?}", uri)
                function = _called(stack, {"Ref": target.group(1)}) if target else None
                yield api, method, path, operation, _name_of(function) if function else None


def _dimensions(alarm):
    return {dimension["Name"]: dimension["Value"] for dimension in alarm["Dimensions"]}


def _counted():
    """Metric -> the dimensions, besides the stack, with which the functions emit it."""
    source = METRICS.read_text()
    values = {
        kind: [{name: value} for value in re.findall(r'\w+ = "([\w-]+)"', body)]
        for kind, name, body in re.findall(r'^    (\w+) = "(\w+)" \{(.*?)\}$', source, re.M | re.S)
    }
    families = re.findall(r"^    (\w+) by (\w+|\(\)) \{\n(.*?)^    \}", source, re.M | re.S)
    assert len(families) >= 6 and len(values) >= 4, "metrics.rs does not have the form that this test parses"
    return {
        metric: values.get(by, [{}])
        for _, by, body in families
        for metric in re.findall(r'^        \w+: \w+ = "(\w+)"', body, re.M)
    }


def _parameters(template, node):
    """The parameters on which a part of the template depends."""
    if isinstance(node, list):
        return set().union(*(_parameters(template, item) for item in node))
    if not isinstance(node, dict):
        return set()
    found = set().union(*(_parameters(template, value) for value in node.values()))
    if "Ref" in node:
        found |= {node["Ref"]} & set(template["Parameters"])
    if "Fn::If" in node:
        found |= _parameters(template, template["Conditions"][node["Fn::If"][0]])
    return found


def _raw_timeouts(template, stack, name):
    """The time-out of the function called `name`, as written in the template (a number or a parameter)."""
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
    """The logical id of the resource that an ARN belongs to."""
    if isinstance(resource, dict):
        return resource["Fn::GetAtt"][0] if "Fn::GetAtt" in resource else None
    match = re.match(r"\$\{(\w+)\.\w+}", resource)
    return match.group(1) if match else None


def _list(value):
    return value if isinstance(value, list) else [value]
