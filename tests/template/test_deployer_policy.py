"""docs/deployer-policy.yaml allows the calls that a deployment of the template makes, on this stack, and little more.

CloudFormation's handlers of a resource type call AWS with the rights of the deployer. AWS publishes the calls of each handler
in the schema of the type, and cfn-lint contains these schemas.
"""

import fnmatch
import functools
import json
import pathlib
import re
import subprocess
import sys

import cfnlint
import pytest
from samcli.yamlhelper import yaml_parse

from creation import as_list
from expand import PSEUDO_PARAMETERS, TEMPLATE, Stack, source
from models import SHORTEST, _returned, deployed
from test_models import CHOICES, deployment

POLICIES = TEMPLATE.parent / "docs" / "deployer-policy.yaml"
SCHEMAS = pathlib.Path(cfnlint.__file__).parent / "data" / "schemas" / "resources"
STACK = "messaging-production"
# The maximum length of a managed policy, without whitespace.
LONGEST_POLICY = 6_144

# Actions that handlers call for properties that the template does not use.
NOT_NEEDED = [
    # of other services
    "amplify:*", "apprunner:*", "appsync:*", "bedrock-agentcore:*", "cognito-idp:*", "ec2:*", "elasticfilesystem:*",
    "elasticloadbalancing:*", "firehose:*", "kinesis:*", "payments:*", "s3files:*", "s3tables:*",
    # items, imports, replicas, policies and copies of tables
    "dynamodb:*Item", "dynamodb:Query", "dynamodb:Scan", "dynamodb:*Import*", "dynamodb:ImportTable", "dynamodb:*TableReplica",
    "dynamodb:PutResourcePolicy", "dynamodb:DeleteResourcePolicy", "dynamodb:UpdateContributorInsights",
    "dynamodb:EnableKinesisStreamingDestination", "dynamodb:DisableKinesisStreamingDestination",
    "dynamodb:UpdateKinesisStreamingDestination", "logs:CreateLogStream", "logs:PutLogEvents", "logs:DescribeLogStreams",
    "s3:GetObjectMetadata", "kms:ListAliases", "kms:RevokeGrant",
    # other configurations of buckets
    "s3:*Metadata*Table*", "s3:*Abac", "s3:*Acl", "s3:PutObjectAcl", "s3:DeleteObject", "s3:PutObjectLockConfiguration",
    *(
        f"s3:{verb}{what}"
        for verb in ("Put", "Delete", "PutBucket", "DeleteBucket")
        for what in (
            "AccelerateConfiguration", "AnalyticsConfiguration", "Cors", "Encryption", "IntelligentTieringConfiguration",
            "InventoryConfiguration", "Lifecycle", "Logging", "MetricsConfiguration", "Notification", "ObjectLockConfiguration",
            "Replication", "ReplicationConfiguration", "Versioning", "Website",
        )
        if (verb, what) not in {("Put", "MetricsConfiguration"), ("PutBucket", "Notification")}
    ),
    # code signing, layers, runtimes, scaling, provisioned concurrency
    "lambda:*CodeSigningConfig", "lambda:GetLayerVersion", "lambda:AssociateRuntimeAlias", "lambda:PassCapacityProvider",
    "lambda:PutFunctionScalingConfig", "lambda:PutRuntimeManagementConfig",
    "lambda:PutProvisionedConcurrencyConfig", "lambda:DeleteProvisionedConcurrencyConfig",
    # keys, policies and indexes of log groups
    "logs:*KmsKey", "logs:*LogDelivery", "logs:*DataProtectionPolicy", "logs:*IndexPolicy", "logs:*ResourcePolicy",
    "logs:PutBearerTokenAuthentication", "logs:PutLogGroupDeletionProtection", "s3:REST.PUT.OBJECT",
    # boundaries and descriptions of roles, policies of APIs, servers outside AWS
    "iam:*PermissionsBoundary", "iam:UpdateRole", "iam:UpdateRoleDescription", "apigateway:UpdateRestApiPolicy",
    "codedeploy:RegisterOnPremisesInstance", "wafv2:*PermissionPolicy",
]

# Actions that `sam deploy` itself calls.
SAM = {
    "cloudformation:CreateChangeSet", "cloudformation:DescribeChangeSet", "cloudformation:DescribeStackEvents",
    "cloudformation:DescribeStacks", "cloudformation:ExecuteChangeSet", "cloudformation:GetTemplateSummary",
    "s3:GetBucketLocation", "s3:GetObject", "s3:PutObject",
}


@functools.cache
def needed():
    """Resource type -> the actions that its handlers call."""
    kinds = {resource["Type"] for choice in CHOICES for resource in deployment(source(), choice, "default").resources.values()}
    found = {kind: set() for kind in kinds}
    for path in SCHEMAS.glob("*.json"):
        schema = json.loads(path.read_text())
        if schema.get("typeName") in kinds:
            for name, handler in schema.get("handlers", {}).items():
                if name != "list":
                    found[schema["typeName"]] |= set(handler.get("permissions", []))
    return found


def statements(template=None):
    """All statements of both policies, for the stack STACK."""
    template = template or yaml_parse(POLICIES.read_text())
    document = Stack.__new__(Stack)
    document.template, document.values, document.conditions = template, {"StackName": STACK}, {}
    return {
        name: document._evaluate(resource["Properties"]["PolicyDocument"])["Statement"]
        for name, resource in template["Resources"].items()
    }


def allowed(action, arn, policies):
    return any(
        action in as_list(one["Action"]) and any(fnmatch.fnmatchcase(arn, resource) for resource in as_list(one["Resource"]))
        for policy in policies.values()
        for one in policy
    )


def actions(policies):
    return {action for policy in policies.values() for one in policy for action in as_list(one["Action"])}


def lacking(policies):
    """The actions of handlers that are neither allowed nor listed as not needed."""
    given = actions(policies)
    for kind, wanted in sorted(needed().items()):
        assert wanted, f"cfn-lint has no handlers of {kind}"
        for action in sorted(wanted - given):
            if not any(fnmatch.fnmatchcase(action, pattern) for pattern in NOT_NEEDED):
                yield f"{kind} needs {action}"


def test_it_is_a_template():
    linter = pathlib.Path(sys.executable).with_name("cfn-lint")
    ran = subprocess.run([linter, POLICIES], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout


def test_the_handlers_of_all_types_may_make_their_calls():
    assert list(lacking(statements())) == []
    assert SAM <= actions(statements())


def test_a_missing_action_is_noticed():
    policies = statements()
    for policy in policies.values():
        for one in policy:
            one["Action"] = [action for action in as_list(one["Action"]) if action != "sqs:SetQueueAttributes"]
    assert list(lacking(policies)) == [f"{kind} needs sqs:SetQueueAttributes" for kind in ("AWS::SQS::Queue", "AWS::SQS::QueuePolicy")]


def test_only_actions_that_are_called_are_allowed():
    called = set().union(*needed().values()) | SAM
    # For people: to cancel, to clean up, to continue after a failed rollback, to read what early validation refused.
    people = {
        f"cloudformation:{name}"
        for name in (
            "CancelUpdateStack", "ContinueUpdateRollback", "DeleteChangeSet", "DeleteStack", "DescribeEvents", "DescribeStackResource",
            "DescribeStackResources", "GetTemplate", "ListStackResources", "ValidateTemplate",
        )
    }
    also = {"iam:CreateServiceLinkedRole", "lambda:GetPolicy", "s3:GetObjectVersion"}
    assert actions(statements()) - called - people - also == set()


def test_a_deployer_may_read_why_a_change_set_was_refused():
    assert allowed("cloudformation:DescribeEvents", "*", statements())


@pytest.mark.parametrize("policy", statements())
def test_a_policy_is_short_and_has_no_wide_statement(policy):
    document = {"Version": "2012-10-17", "Statement": statements()[policy]}
    assert len(json.dumps(document, separators=(",", ":"))) <= LONGEST_POLICY
    for one in statements()[policy]:
        assert one["Effect"] == "Allow"
        assert not any("*" in action for action in as_list(one["Action"]))
        if "*" in as_list(one["Resource"]):
            reads = re.compile(r"\w+:(Describe|Get|List|Validate)\w+")
            assert "Condition" in one or all(reads.fullmatch(action) for action in as_list(one["Action"])), one


def made():
    """Type, ARN and action of each resource that CloudFormation creates."""
    stack = deployed(source(), SHORTEST | {"AWS::StackName": STACK}, CHOICES["all on"])
    of = {
        "AWS::DynamoDB::Table": ("dynamodb:CreateTable", "Arn"),
        "AWS::Events::Rule": ("events:PutRule", "Arn"),
        "AWS::IAM::Role": ("iam:CreateRole", "Arn"),
        "AWS::Lambda::Function": ("lambda:CreateFunction", "Arn"),
        "AWS::Logs::LogGroup": ("logs:CreateLogGroup", "Arn"),
        "AWS::SQS::Queue": ("sqs:CreateQueue", "Arn"),
        "AWS::WAFv2::WebACL": ("wafv2:CreateWebACL", "Arn"),
    }
    where = f"{PSEUDO_PARAMETERS['AWS::Region']}:{PSEUDO_PARAMETERS['AWS::AccountId']}"
    for name, resource in stack.resources.items():
        kind = resource["Type"]
        if kind in of:
            action, attribute = of[kind]
            yield kind, _returned(stack, name, attribute), action
        elif kind == "AWS::CloudWatch::Alarm":
            yield kind, f"arn:aws:cloudwatch:{where}:alarm:{_returned(stack, name, None)}", "cloudwatch:PutMetricAlarm"
        elif kind == "AWS::S3::Bucket":
            yield kind, _returned(stack, name, "Arn").lower(), "s3:CreateBucket"


def test_the_policies_cover_what_the_stack_creates():
    policies = statements()
    kinds = set()
    for kind, arn, action in made():
        kinds.add(kind)
        assert allowed(action, arn, policies), f"{action} on {arn}"
        # `messaging-dev` is another stack of samconfig.toml.
        assert not allowed(action, arn.replace(STACK, "messaging-dev"), policies), f"{action} on the stack of another"
    assert len(kinds) == 9
