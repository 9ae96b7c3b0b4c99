"""Compares every resource of the expanded template with the input that AWS accepts for it.

CloudFormation passes the properties of a resource to operations of a service. botocore has a model of each operation's
input: required members, enums, patterns, minimum and maximum lengths. `OPERATIONS` maps each resource type to its operations.
`LIMITS` has the limits that AWS documents outside its models.
"""

import functools
import json
import re

import botocore.session

from creation import as_list
from expand import PSEUDO_PARAMETERS, Stack

# The longest values of AWS. The template itself limits the stack's name, because a function's name has at most 64 characters.
LONGEST_STACK_NAME = 47
LONGEST = PSEUDO_PARAMETERS | {
    "AWS::Partition": "aws-iso-f",
    "AWS::Region": "us-isof-south-1",
    "AWS::StackName": "Stack-" + "n" * (LONGEST_STACK_NAME - 6),
    "AWS::URLSuffix": "csp.hci.ic.gov",
}
SHORTEST = PSEUDO_PARAMETERS | {"AWS::StackName": "s"}


def deployed(template, pseudo_parameters, values):
    """The stack of a template in an account and region. Values of list parameters become lists."""
    as_taken = {
        name: value.split(",") if template["Parameters"][name]["Type"] == "CommaDelimitedList" and isinstance(value, str) else value
        for name, value in ({name: spec.get("Default") for name, spec in template["Parameters"].items()} | values).items()
    }

    class Deployed(Stack):
        pass

    Deployed.pseudo_parameters = pseudo_parameters
    return Deployed(template, **as_taken)


def refused(stack):
    """A sentence for each value that AWS would refuse."""
    for name, resource in stack.resources.items():
        kind = resource["Type"]
        if kind not in OPERATIONS:
            yield f"{name}: models.py does not know {kind}"
            continue
        properties = _real(stack, resource.get("Properties", {}))
        for operation, members in _inputs(kind, properties).items():
            shape = _operation(OPERATIONS[kind][0], operation).input_shape
            for problem in _problems(shape, members, operation):
                yield f"{name}: {problem}"
        for what, measure, most in LIMITS.get(kind, []):
            measured = measure(properties)
            if measured > most:
                yield f"{name}: {what} is {measured}, at most {most}"


# --- The operations for each resource ---------------------------------------------------------------------------


def to(operation, identifier):
    """A property that another operation takes, together with the identifier of the created resource."""
    return lambda name, value: {operation: {identifier: "identifier", name: value}}


def ignored(_name, _value):
    """A property that CloudFormation itself uses."""
    return {}


def as_map(_name, value):
    return {None: {"tags": {tag["Key"]: tag["Value"] for tag in value}}}


def as_text(name, value):
    return {None: {name: json.dumps(value, separators=(",", ":"))}}


def attributes_of_a_queue(name, value):
    return {None: {"Attributes": {name: json.dumps(value) if isinstance(value, dict) else _text(value)}}}


def inline_policies(_name, value):
    return [
        {
            "PutRolePolicy": {
                "RoleName": "identifier", "PolicyName": policy["PolicyName"],
                "PolicyDocument": json.dumps(policy["PolicyDocument"], separators=(",", ":")),
            }
        }
        for policy in value
    ]


def managed_policies(_name, value):
    return [{"AttachRolePolicy": {"RoleName": "identifier", "PolicyArn": arn}} for arn in value]


def encryption_of_a_bucket(_name, value):
    rules = [
        {_member("ApplyServerSideEncryptionByDefault", key): default for key, default in rule.items()}
        for rule in value["ServerSideEncryptionConfiguration"]
    ]
    return {"PutBucketEncryption": {"Bucket": "identifier", "ServerSideEncryptionConfiguration": {"Rules": rules}}}


def _member(default, key):
    return default if key == "ServerSideEncryptionByDefault" else key


def lifecycle_of_a_bucket(_name, value):
    rules = []
    for rule in value["Rules"]:
        rule = {"ID" if key == "Id" else key: one for key, one in rule.items()} | {"Filter": {"Prefix": rule.get("Prefix", "")}}
        rule.pop("Prefix", None)
        if "ExpirationInDays" in rule:
            rule["Expiration"] = {"Days": rule.pop("ExpirationInDays")}
        rules.append(rule)
    return {"PutBucketLifecycleConfiguration": {"Bucket": "identifier", "LifecycleConfiguration": {"Rules": rules}}}


def origins_of_a_bucket(_name, value):
    rules = [{"MaxAgeSeconds" if key == "MaxAge" else key: one for key, one in rule.items()} for rule in value["CorsRules"]]
    return {"PutBucketCors": {"Bucket": "identifier", "CORSConfiguration": {"CORSRules": rules}}}


def notifications_of_a_bucket(_name, value):
    queues = [{"QueueArn": one["Queue"], "Events": [one["Event"]]} for one in value["QueueConfigurations"]]
    configuration = {"QueueConfigurations": queues} | {key: one for key, one in value.items() if key != "QueueConfigurations"}
    return {"PutBucketNotificationConfiguration": {"Bucket": "identifier", "NotificationConfiguration": configuration}}


def metrics_of_a_bucket(_name, value):
    configurations = [
        {("Filter" if key == "Prefix" else key): ({"Prefix": value} if key == "Prefix" else value) for key, value in one.items()}
        for one in value
    ]
    return [{"PutBucketMetricsConfiguration": {"Bucket": "identifier", "Id": one.get("Id", ""), "MetricsConfiguration": one}} for one in configurations]


def encryption_of_a_table(_name, value):
    return {None: {"SSESpecification": {_enabled(key): one for key, one in value.items()}}}


def _enabled(key):
    return "Enabled" if key == "SSEEnabled" else key


def stream_of_a_table(_name, value):
    return {None: {"StreamSpecification": {"StreamEnabled": True} | value}}


def backups_of_a_table(_name, value):
    return {"UpdateContinuousBackups": {"TableName": "identifier", "PointInTimeRecoverySpecification": value}}


def settings_of_methods(_name, value):
    """A stage's settings are set by paths. The models have only the result."""
    known = _operation("apigateway", "GetStage").output_shape.members["methodSettings"].value
    problems = [
        problem
        for setting in value
        for problem in _problems(
            known, {key: one for key, one in setting.items() if key not in ("HttpMethod", "ResourcePath")}, "MethodSettings"
        )
    ]
    return {"problems": problems}


def access_log_of_a_stage(_name, value):
    shape = _operation("apigateway", "GetStage").output_shape.members["accessLogSettings"]
    return {"problems": list(_problems(shape, value, "AccessLogSetting"))}


def responses_of_a_gateway(_name, body):
    found = [
        {
            "PutGatewayResponse": {
                "restApiId": "identifier", "responseType": kind,
                **{key: response[key] for key in ("statusCode", "responseParameters", "responseTemplates") if key in response},
            }
        }
        for kind, response in body.get("x-amazon-apigateway-gateway-responses", {}).items()
    ]
    return [{"ImportRestApi": {"body": json.dumps(body).encode()}}, *found]


def targets_of_a_rule(_name, value):
    return {"PutTargets": {"Rule": "identifier", "Targets": value}}


# Type -> service, operation that takes its properties, and properties that other operations take. CloudFormation's names are
# the members' names with different capitals.
OPERATIONS = {
    "AWS::ApiGateway::Account": ("apigateway", "UpdateAccount", {"CloudWatchRoleArn": ignored}),
    "AWS::ApiGateway::BasePathMapping": ("apigateway", "CreateBasePathMapping", {}),
    "AWS::ApiGateway::Deployment": ("apigateway", "CreateDeployment", {}),
    "AWS::ApiGateway::DomainName": ("apigateway", "CreateDomainName", {}),
    "AWS::ApiGateway::RestApi": (
        "apigateway", "CreateRestApi",
        {"Body": responses_of_a_gateway, "Parameters": ignored},
    ),
    "AWS::ApiGateway::Stage": (
        "apigateway", "CreateStage",
        {"MethodSettings": settings_of_methods, "AccessLogSetting": access_log_of_a_stage},
    ),
    "AWS::CloudWatch::Alarm": ("cloudwatch", "PutMetricAlarm", {}),
    "AWS::CloudWatch::Dashboard": ("cloudwatch", "PutDashboard", {}),
    "AWS::CodeDeploy::Application": ("codedeploy", "CreateApplication", {}),
    "AWS::CodeDeploy::DeploymentGroup": ("codedeploy", "CreateDeploymentGroup", {}),
    "AWS::DynamoDB::Table": (
        "dynamodb", "CreateTable",
        {
            "PointInTimeRecoverySpecification": backups_of_a_table,
            "SSESpecification": encryption_of_a_table,
            "StreamSpecification": stream_of_a_table,
            "TimeToLiveSpecification": to("UpdateTimeToLive", "TableName"),
        },
    ),
    "AWS::Events::Rule": ("events", "PutRule", {"Targets": targets_of_a_rule}),
    "AWS::IAM::Role": (
        "iam", "CreateRole",
        {"AssumeRolePolicyDocument": as_text, "ManagedPolicyArns": managed_policies, "Policies": inline_policies},
    ),
    "AWS::Lambda::Alias": ("lambda", "CreateAlias", {}),
    "AWS::Lambda::EventInvokeConfig": ("lambda", "PutFunctionEventInvokeConfig", {}),
    "AWS::Lambda::EventSourceMapping": ("lambda", "CreateEventSourceMapping", {}),
    "AWS::Lambda::Function": (
        "lambda", "CreateFunction",
        {
            "RecursiveLoop": to("PutFunctionRecursionConfig", "FunctionName"),
            "ReservedConcurrentExecutions": to("PutFunctionConcurrency", "FunctionName"),
            "Tags": as_map,
        },
    ),
    "AWS::Lambda::Permission": ("lambda", "AddPermission", {}),
    "AWS::Lambda::Version": ("lambda", "PublishVersion", {}),
    "AWS::Logs::LogGroup": ("logs", "CreateLogGroup", {"RetentionInDays": to("PutRetentionPolicy", "logGroupName")}),
    "AWS::S3::Bucket": (
        "s3", "CreateBucket",
        {
            "BucketEncryption": encryption_of_a_bucket,
            "CorsConfiguration": origins_of_a_bucket,
            "LifecycleConfiguration": lifecycle_of_a_bucket,
            "MetricsConfigurations": metrics_of_a_bucket,
            "NotificationConfiguration": notifications_of_a_bucket,
            "OwnershipControls": to("PutBucketOwnershipControls", "Bucket"),
            "PublicAccessBlockConfiguration": to("PutPublicAccessBlock", "Bucket"),
        },
    ),
    "AWS::S3::BucketPolicy": (
        "s3", "PutBucketPolicy", {"PolicyDocument": lambda _name, value: {None: {"Policy": json.dumps(value)}}},
    ),
    "AWS::SQS::Queue": (
        "sqs", "CreateQueue",
        {
            name: attributes_of_a_queue
            for name in ("KmsMasterKeyId", "MessageRetentionPeriod", "RedrivePolicy", "SqsManagedSseEnabled", "VisibilityTimeout")
        },
    ),
    "AWS::SQS::QueuePolicy": (
        "sqs", "SetQueueAttributes",
        {
            "PolicyDocument": lambda _name, value: {None: {"Attributes": {"Policy": json.dumps(value)}}},
            "Queues": lambda _name, value: {None: {"QueueUrl": value[0]}},  # the template's policies are of one queue each
        },
    ),
    "AWS::WAFv2::WebACL": ("wafv2", "CreateWebACL", {}),
    "AWS::WAFv2::WebACLAssociation": ("wafv2", "AssociateWebACL", {}),
}

# The names that CloudFormation generates if the template gives none.
GENERATED = {
    "AWS::CodeDeploy::Application": {"applicationName": "identifier"},
    "AWS::CodeDeploy::DeploymentGroup": {"deploymentGroupName": "identifier"},
    "AWS::Events::Rule": {"Name": "identifier"},
    "AWS::IAM::Role": {"RoleName": "identifier"},
    "AWS::Lambda::Permission": {"StatementId": "identifier"},
    "AWS::S3::Bucket": {"Bucket": "identifier"},
}


def _inputs(kind, properties):
    """Operation -> its input. A number distinguishes several calls of one operation."""
    _, main, others = OPERATIONS[kind]
    inputs = {(main, 0): dict(GENERATED.get(kind, {}))}
    for name, value in properties.items():
        if name not in others:
            inputs[main, 0][name] = value
            continue
        for made in as_list(others[name](name, value)):
            for operation, members in made.items():
                if operation == "problems":
                    inputs[main, 0].setdefault("problems", []).extend(members)
                    continue
                place = (operation or main, 0)
                while operation and place in inputs:
                    place = (operation, place[1] + 1)
                _merge(inputs.setdefault(place, {}), members)
    return _Numbered(inputs)


class _Numbered(dict):
    def items(self):
        return [(operation, members) for (operation, _), members in super().items()]


def _merge(members, more):
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(members.get(key), dict):
            members[key] = members[key] | value
        else:
            members[key] = value


# --- Limits that AWS documents outside its models --------------------------------------------------------------------------


def _compact(document):
    return len(json.dumps(document, separators=(",", ":")))


def _inline(role):
    return sum(_compact(policy["PolicyDocument"]) for policy in role.get("Policies", []))


def _not_a_host_name(domain):
    label = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
    return 0 if re.fullmatch(rf"{label}(\.{label})+", domain["DomainName"]) and len(domain["DomainName"]) <= 253 else 1


# Type -> what is measured, how, and the maximum. Lambda measures the environment as JSON.
LIMITS = {
    "AWS::ApiGateway::DomainName": [("a name that is no host name", _not_a_host_name, 0)],
    "AWS::ApiGateway::Stage": [
        ("the format of its log", lambda stage: len(stage.get("AccessLogSetting", {}).get("Format", "")), 3000),
    ],
    "AWS::DynamoDB::Table": [("its name's length", lambda table: len(table["TableName"]), 255)],
    "AWS::IAM::Role": [
        ("the length of its inline policies", _inline, 10_240),
        ("the length of its trust policy", lambda role: _compact(role["AssumeRolePolicyDocument"]), 2_048),
    ],
    "AWS::Lambda::Function": [
        ("its name's length", lambda function: len(function["FunctionName"]), 64),
        ("the length of its environment", lambda function: _compact(function["Environment"]["Variables"]), 4_096),
    ],
    "AWS::S3::BucketPolicy": [("the length of the policy", lambda policy: _compact(policy["PolicyDocument"]), 20_480)],
    "AWS::SQS::Queue": [
        ("its name's length", lambda queue: len(queue["QueueName"]), 80),
        ("its visibility time-out", lambda queue: int(queue.get("VisibilityTimeout", 30)), 43_200),
        ("its retention", lambda queue: int(queue.get("MessageRetentionPeriod", 345_600)), 1_209_600),
    ],
}


# --- Values that are known only at deployment ------------------------------------------------------------------------------


def _real(stack, node):
    """Replaces references between resources by values as AWS returns them."""
    if isinstance(node, list):
        return [_real(stack, item) for item in node]
    if isinstance(node, str):
        return re.sub(
            r"\$\{(\w+)(?:\.(\w+))?}",
            lambda found: _returned(stack, found[1], found[2]) if found[1] in stack.resources else found[0], node,
        )
    if not isinstance(node, dict):
        return node
    if set(node) == {"Ref"}:
        return _returned(stack, node["Ref"], None)
    if set(node) == {"Fn::GetAtt"}:
        return _returned(stack, node["Fn::GetAtt"][0], node["Fn::GetAtt"][1])
    return {key: _real(stack, value) for key, value in node.items()}


NAMES = {
    "AWS::ApiGateway::DomainName": "DomainName",
    "AWS::ApiGateway::Stage": "StageName",
    "AWS::CloudWatch::Alarm": "AlarmName",
    "AWS::DynamoDB::Table": "TableName",
    "AWS::Lambda::Function": "FunctionName",
    "AWS::Logs::LogGroup": "LogGroupName",
    "AWS::SQS::Queue": "QueueName",
    "AWS::WAFv2::WebACL": "Name",
}
RETURNED = {
    ("AWS::ApiGateway::Deployment", None): "a1b2c3d4e5",
    ("AWS::ApiGateway::RestApi", None): "a1b2c3d4e5",
    ("AWS::DynamoDB::Table", "Arn"): "{arn}:dynamodb:{where}:table/{name}",
    ("AWS::DynamoDB::Table", "StreamArn"): "{arn}:dynamodb:{where}:table/{name}/stream/2026-11-22T00:00:00.000",
    ("AWS::Events::Rule", "Arn"): "{arn}:events:{where}:rule/{name}",
    ("AWS::IAM::Role", "Arn"): "{arn}:iam::{account}:role/{name}",
    ("AWS::Lambda::Alias", None): "{arn}:lambda:{where}:function:{function}:live",
    ("AWS::Lambda::Function", "Arn"): "{arn}:lambda:{where}:function:{name}",
    ("AWS::Lambda::Version", None): "{arn}:lambda:{where}:function:{function}:123456",
    ("AWS::Lambda::Version", "Version"): "123456",
    ("AWS::Logs::LogGroup", "Arn"): "{arn}:logs:{where}:log-group:{name}:*",
    ("AWS::S3::Bucket", "Arn"): "{arn}:s3:::{name}",
    ("AWS::SQS::Queue", None): "https://sqs.{region}.{suffix}/{account}/{name}",
    ("AWS::SQS::Queue", "Arn"): "{arn}:sqs:{where}:{name}",
    ("AWS::SQS::Queue", "QueueName"): "{name}",
    ("AWS::WAFv2::WebACL", "Arn"): "{arn}:wafv2:{where}:regional/webacl/{name}/0f0e0d0c-0000-4000-8000-0123456789ab",
}
# The maximum length of a name that CloudFormation generates.
GENERATED_NAMES = {"AWS::Events::Rule": 64, "AWS::IAM::Role": 64, "AWS::S3::Bucket": 63}


def _returned(stack, name, attribute):
    resource = stack.resources[name]
    kind, properties = resource["Type"], resource.get("Properties", {})
    pseudo = stack.pseudo_parameters
    region, account = pseudo["AWS::Region"], pseudo["AWS::AccountId"]
    own = _real(stack, properties.get(NAMES.get(kind)))
    generated = f"{pseudo['AWS::StackName']}-{name}-0123456789ab"[-GENERATED_NAMES.get(kind, 100) :]
    pattern = RETURNED.get((kind, attribute), "{name}" if attribute is None else None)
    assert pattern, f"models.py does not know {attribute} of {kind}"
    return pattern.format(
        account=account, arn=f"arn:{pseudo['AWS::Partition']}", name=own or generated, region=region,
        suffix=pseudo["AWS::URLSuffix"], where=f"{region}:{account}",
        function=_real(stack, properties["FunctionName"]) if "FunctionName" in properties else "",
    )


# --- botocore's models ---------------------------------------------------------------------------------------------


@functools.cache
def _service(name):
    return botocore.session.get_session().get_service_model(name)


def _operation(service, name):
    return _service(service).operation_model(name)


def _problems(shape, value, path):
    """A sentence per violation. CloudFormation turns numbers and booleans into text, and text into these."""
    yield from CHECKS.get(shape.type_name, lambda *_: ())(shape, value, path)


def _structure(shape, value, path):
    if not isinstance(value, dict):
        yield f"{path} is {value!r}, not an object"
        return
    yield from value.get("problems", [])
    members = {name.lower(): name for name in shape.members}
    given = {members.get(key.lower(), key): one for key, one in value.items() if key != "problems"}
    for key in shape.required_members:
        if key not in given:
            yield f"{path} lacks {key}"
    for key, one in given.items():
        if key in shape.members:
            yield from _problems(shape.members[key], one, f"{path}.{key}")
        else:
            yield f"{path} has no member {key}"


def _list(shape, value, path):
    if not isinstance(value, list):
        yield f"{path} is {value!r}, not a list"
        return
    yield from _within(shape, len(value), f"the number of {path}")
    for number, one in enumerate(value):
        yield from _problems(shape.member, one, f"{path}[{number}]")


def _map(shape, value, path):
    if not isinstance(value, dict):
        yield f"{path} is {value!r}, not an object"
        return
    yield from _within(shape, len(value), f"the number of {path}")
    for key, one in value.items():
        yield from _problems(shape.key, key, f"a key of {path}")
        yield from _problems(shape.value, one, f"{path}.{key}")


def _string(shape, value, path):
    if isinstance(value, (dict, list)):
        yield f"{path} is {value!r}, not text"
        return
    text = _text(value)
    yield from _within(shape, len(text), f"the length of {path}")
    if shape.enum and text not in shape.enum:
        yield f"{path} is {text!r}, not one of {shape.enum}"
    pattern = shape.metadata.get("pattern")
    if pattern and not re.fullmatch(_as_python(pattern), text):
        yield f"{path} is {text!r}, which does not match {pattern}"


def _number(shape, value, path):
    try:
        number = float(value)
    except (TypeError, ValueError):
        yield f"{path} is {value!r}, not a number"
        return
    yield from _within(shape, number, path)
    if shape.type_name in ("integer", "long") and number != int(number):
        yield f"{path} is {value!r}, not a whole number"
    if shape.type_name == "integer" and number >= 2**31:
        yield f"{path} is {value!r}, which has more than 32 bits"


def _boolean(_shape, value, path):
    if _text(value) not in ("true", "false"):
        yield f"{path} is {value!r}, not a boolean"


CHECKS = {
    "structure": _structure,
    "list": _list,
    "map": _map,
    "string": _string,
    "integer": _number,
    "long": _number,
    "float": _number,
    "double": _number,
    "boolean": _boolean,
}


def _within(shape, measured, what):
    least, most = shape.metadata.get("min"), shape.metadata.get("max")
    if least is not None and measured < least:
        yield f"{what} is {measured}, at least {least}"
    if most is not None and measured > most:
        yield f"{what} is {measured}, at most {most}"


def _text(value):
    return json.dumps(value) if isinstance(value, bool) else str(value)


@functools.cache
def _as_python(pattern):
    """The models have Java's expressions; Python has other names for classes of characters."""
    return re.compile(pattern.replace(r"\p{L}", r"\w").replace(r"\p{Z}", r"\s").replace(r"\p{N}", r"\d").replace(r"[\w-_]", r"[\w_-]"))
