"""The checks that services make when CloudFormation creates a resource, and the resources that exist by then.

A resource waits for the resources that it refers to and for those in its DependsOn, and for no others. If a service checks a
resource that is no ancestor, the deployment succeeds or fails by chance.
"""

import re

TRACING_RIGHTS = {"xray:PutTelemetryRecords", "xray:PutTraceSegments"}
ANYTHING = "*"

# The actions that Lambda tries when it creates an event source mapping, by the type of the source.
READING = {
    "AWS::SQS::Queue": {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"},
    "AWS::DynamoDB::Table": {
        "dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams",
    },
}
# The actions that it tries on a destination for failures.
WRITING = {
    "AWS::S3::Bucket": {"s3:ListBucket", "s3:PutObject"},
    "AWS::SQS::Queue": {"sqs:SendMessage"},
    "AWS::SNS::Topic": {"sns:Publish"},
}
# The type of the resource that permits S3 to send, by the kind of a bucket's notification.
TELLING = {
    "LambdaConfigurations": "AWS::Lambda::Permission",
    "QueueConfigurations": "AWS::SQS::QueuePolicy",
    "TopicConfigurations": "AWS::SNS::TopicPolicy",
}
# The property with the role of a resource, and the service that assumes the role.
TRUSTED = {
    "AWS::ApiGateway::Account": ("CloudWatchRoleArn", "apigateway.amazonaws.com"),
    "AWS::CodeDeploy::DeploymentGroup": ("ServiceRoleArn", "codedeploy.amazonaws.com"),
    "AWS::Lambda::Function": ("Role", "lambda.amazonaws.com"),
}


def unchecked(stack):
    """A sentence for each thing that a service checks and that may not exist yet."""
    before = ancestors(stack)
    for name, role, action, target in rights(stack):
        if not any(allows(statement, action, target) for statement in statements_before(stack, role, before[name])):
            yield f"{name} may be created before {role} may {action} on {target}"
    for name, resource in stack.resources.items():
        kind, properties = resource["Type"], resource.get("Properties", {})
        if kind in TRUSTED:
            key, principal = TRUSTED[kind]
            role = stack.resources.get(owner(properties[key]), {})
            trust = role.get("Properties", {}).get("AssumeRolePolicyDocument", {}).get("Statement", [])
            if {"Service": principal} not in [statement["Principal"] for statement in trust]:
                yield f"{name} has no role of the stack that {principal} may assume"
        if kind == "AWS::ApiGateway::Stage" and "AccessLogSetting" in properties:
            # If the stack has no account resource, an operator has set the role.
            if set(stack.of_type("AWS::ApiGateway::Account")) - before[name]:
                yield f"{name} may be created before API Gateway may write logs"
        if kind == "AWS::S3::Bucket":
            for told, permission in TELLING.items():
                wanted = len(properties.get("NotificationConfiguration", {}).get(told, []))
                if len([one for one in before[name] if stack.resources[one]["Type"] == permission]) < wanted:
                    yield f"{name} may be created before S3 may tell its {told}"


def rights(stack):
    """Resource, role, action and target of each right that a service tries when the resource is created."""
    functions = stack.of_type("AWS::Lambda::Function")
    for name, function in functions.items():
        if function.get("TracingConfig", {}).get("Mode") == "Active":
            for action in sorted(TRACING_RIGHTS):
                yield name, owner(function["Role"]), action, ANYTHING
    for kind in ("AWS::Lambda::EventSourceMapping", "AWS::Lambda::EventInvokeConfig"):
        for name, mapping in stack.of_type(kind).items():
            role = owner(functions[called(stack, mapping["FunctionName"])]["Role"])
            if "EventSourceArn" in mapping:
                yield from to_reach(stack, name, role, owner(mapping["EventSourceArn"]), READING, "kms:Decrypt")
            failed = (mapping.get("DestinationConfig") or {}).get("OnFailure", {}).get("Destination")
            if failed is not None:
                yield from to_reach(stack, name, role, owner(failed), WRITING, "kms:GenerateDataKey")


def to_reach(stack, name, role, target, actions, of_the_key):
    resource = stack.resources[target]
    for action in sorted(actions[resource["Type"]]):
        yield name, role, action, target
    key = key_of(resource["Properties"])
    if key is not None:
        yield name, role, of_the_key, key


def key_of(properties):
    """The customer managed key of a queue, table or bucket."""
    rules = properties.get("BucketEncryption", {}).get("ServerSideEncryptionConfiguration", [{}])
    return (
        properties.get("KmsMasterKeyId")
        or properties.get("SSESpecification", {}).get("KMSMasterKeyId")
        or rules[0].get("ServerSideEncryptionByDefault", {}).get("KMSMasterKeyID")
    )


def statements_before(stack, role, before):
    """The statements of a role: those of its own policies, and of separate policies that certainly exist before."""
    policies = list(stack.resources[role]["Properties"].get("Policies", []))
    for name, policy in stack.of_type("AWS::IAM::Policy").items():
        if name in before and {"Ref": role} in policy.get("Roles", []):
            policies.append(policy)
    for policy in policies:
        yield from (one for one in policy["PolicyDocument"]["Statement"] if one["Effect"] == "Allow")


def allows(statement, action, target):
    of = {resource if resource == target else owner(resource) for resource in as_list(statement["Resource"]) if resource}
    return action in as_list(statement["Action"]) and target in of


def ancestors(stack):
    """Per resource, all resources that CloudFormation creates before it."""
    parents = {name: references(resource) & set(stack.resources) for name, resource in stack.resources.items()}
    found = {}

    def of(name):
        if name not in found:
            found[name] = set()  # there are no circles: SAM and cfn-lint refuse them
            found[name] = set().union(parents[name], *(of(parent) for parent in parents[name]))
        return found[name]

    return {name: of(name) for name in parents}


def references(node):
    """The names that a resource, or a part of one, refers to."""
    if isinstance(node, str):
        return set(re.findall(r"\$\{(\w+)[.}]", node))
    if isinstance(node, list):
        return set().union(*map(references, node))
    if not isinstance(node, dict):
        return set()
    found = set().union(*map(references, node.values()))
    found |= {node["Ref"]} if set(node) == {"Ref"} else set()
    found |= {node["Fn::GetAtt"][0]} if set(node) == {"Fn::GetAtt"} else set()
    return found | set(as_list(node.get("DependsOn", [])))


def called(stack, reference):
    """The logical id of the function that a reference to it, or to an alias of it, calls."""
    name = owner(reference)
    resource = stack.resources[name]
    return called(stack, resource["Properties"]["FunctionName"]) if resource["Type"] == "AWS::Lambda::Alias" else name


def owner(reference):
    """The logical id of the resource that a reference or an ARN belongs to."""
    if isinstance(reference, dict):
        return reference["Fn::GetAtt"][0] if "Fn::GetAtt" in reference else reference.get("Ref")
    match = re.match(r"\$\{(\w+)[.}]", reference)
    return match.group(1) if match else None


def as_list(value):
    return value if isinstance(value, list) else [value]
