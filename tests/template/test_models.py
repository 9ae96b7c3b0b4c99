"""AWS accepts every resource of the template, whatever the values of its parameters."""

import json

import botocore.session
import pytest

import values
from expand import source
from models import LONGEST, LONGEST_STACK_NAME, SHORTEST, deployed, refused
from test_template import parameter, remove, resource, set_in

CHOICES = {
    "development": {"Stage": "development"},
    "staging": {"Stage": "staging"},
    "production": {"Stage": "production"},
    "all on": {
        "Stage": "production",
        "Rollout": "Linear10PercentEvery10Minutes",
        "Alarms": "on",
        "Tracing": "on",
        "AccessLogs": "on",
        "GatewayLogsRole": "create",
        "ApiFirewall": "on",
        "CaptureFirewall": "on",
        "ProviderFirewall": "on",
    },
}
# Example values for features that are off by default.
EXAMPLES = {
    "AlarmTopicArn": "arn:aws:sns:eu-west-1:123456789012:operators",
    "TrustedReceivers": "https://hooks.internal.example:8443",
    "SelfServiceTrustedReceivers": "yes",
    "EgressControlUrl": "https://status.example.com/",
    "ApiDomainName": "api.example.com",
    "CaptureDomainName": "capture.example.com",
    "ProviderDomainName": "provider.example.com",
    "PortalFrameAncestors": "https://app.example.com",
    "CertificateArn": "arn:aws:acm:eu-west-1:123456789012:certificate/0f0e0d0c-0000-4000-8000-0123456789ab",
    "SecretsKmsKeyArn": "arn:aws:kms:eu-west-1:123456789012:key/0f0e0d0c-0000-4000-8000-0123456789ab",
    "DataKmsKeyArn": "arn:aws:kms:eu-west-1:123456789012:key/mrk-0f0e0d0c0000400080000123456789ab",
}
LENGTHS = ("default", "longest", "shortest")


def deployment(template, choice, length):
    """The stack with these choices, and with parameters of this length."""
    everything = choice == "all on"
    if length == "default":
        given, pseudo = (EXAMPLES if everything else {}), SHORTEST | {"AWS::StackName": "messaging"}
    else:
        # Different seeds, so that names that must differ do differ.
        seeds = list(enumerate(template["Parameters"].items()))
        if length == "longest":
            given, pseudo = {name: values.longest(spec, seed) for seed, (name, spec) in seeds}, LONGEST
        else:
            given, pseudo = {name: values.shortest(spec, seed, everything) for seed, (name, spec) in seeds}, SHORTEST
    return deployed(template, pseudo, given | CHOICES[choice])


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("choice", CHOICES)
def test_aws_accepts_every_resource(choice, length):
    stack = deployment(source(), choice, length)
    assert stack.refused_by() == []
    assert list(refused(stack)) == []


def test_cloudformation_accepts_the_template():
    template = source()
    stack = deployment(template, "all on", "longest")
    assert len(json.dumps(stack.resources)) < 1_000_000
    assert len(stack.resources) <= 500
    assert len(stack.outputs) <= 200
    assert len(template["Parameters"]) <= 200
    assert len(template["Description"]) <= 1_024
    for name, spec in template["Parameters"].items():
        assert len(spec.get("Description", "")) <= 4_000, name


def test_no_region_has_a_longer_name():
    session = botocore.session.get_session()
    regions = {
        region: partition
        for partition in session.get_available_partitions()
        for region in session.get_available_regions("lambda", partition)
    }
    longest = max(regions, key=len)
    assert (longest, regions[longest]) == (LONGEST["AWS::Region"], LONGEST["AWS::Partition"])
    assert len(LONGEST["AWS::StackName"]) == LONGEST_STACK_NAME


SPOILED = [
    ("models.py does not know AWS::SNS::Topic", lambda template: template["Resources"].update(T={"Type": "AWS::SNS::Topic"})),
    ("PublishVersion.Description is", parameter("CaptchaUrl", MaxLength=400)),
    ("PublishVersion.Description is", parameter("SendRetrySchedule", MaxLength=200)),
    ("the length of its environment is", parameter("TrustedReceivers", MaxLength=2000)),
    ("a name that is no host name", parameter("ApiDomainName", AllowedPattern="[a-z.-]*")),
    ("AlarmActions[0] is", parameter("AlarmTopicArn", MaxLength=2000, AllowedPattern="(arn:aws:sns:.+)?")),
    ("its name's length is 65", set_in("UsersFunction", "FunctionName", to={"Fn::Sub": "${AWS::StackName}-users-of-all-days"})),
    ("its name's length is 81", set_in("SendQueue", "QueueName", to={"Fn::Sub": "${AWS::StackName}-messages-that-are-to-be-sent-soon"})),
    ("lacks Id", remove("FailureBucket", "MetricsConfigurations", "Fn::If", 1, 0, "Id")),
    ("PutMetricAlarm lacks AlarmName", remove("RelayLag", "AlarmName")),
    ("has no member Keys", set_in("LimitsTable", "Keys", to=[])),
    ("not one of", set_in("ContactsTable", "StreamSpecification", "StreamViewType", to="ALL")),
    ("not a list", set_in("ContactsTable", "KeySchema", to={"AttributeName": "pk", "KeyType": "HASH"})),
    ("not an object", set_in("LimitsTable", "TimeToLiveSpecification", to="expiresAt")),
    ("not one of", set_in("MediaBucket", "NotificationConfiguration", "QueueConfigurations", 0, "Event", to="s3:Created")),
    ("not a number", set_in("UsersFunction", "Timeout", to="ten")),
    ("not a boolean", set_in("LimitsTable", "DeletionProtectionEnabled", to="yes")),
    ("MaximumConcurrency is 1", parameter("DeliveryConcurrency", MinValue=1)),
    ("does not match", set_in("UsersFunction", "FunctionName", to="users of a workspace")),
    ("statusCode is", set_in("CaptureApi", "GatewayResponses", "DEFAULT_5XX", "StatusCode", to="700")),
    ("throttlingBurstLimit is", set_in("CaptureApi", "MethodSettings", 0, "ThrottlingBurstLimit", to="many")),
    ("the length of its inline policies is", lambda template: resource(template, "UsersRole")["Policies"].append({
        "PolicyName": "more", "PolicyDocument": {"Version": "2012-10-17", "Statement": [{
            "Effect": "Allow", "Action": "sqs:SendMessage", "Resource": [f"arn:aws:sqs:eu-west-1:123456789012:queue-{n}" for n in range(200)],
        }]},
    })),
]


@pytest.mark.parametrize("sentence, spoil", SPOILED, ids=[f"{number}-{sentence}" for number, (sentence, _) in enumerate(SPOILED)])
def test_a_spoiled_template_is_noticed(sentence, spoil):
    template = source()
    spoil(template)
    found = [problem for length in ("longest", "shortest") for problem in refused(deployment(template, "all on", length))]
    assert [problem for problem in found if sentence in problem], found


@pytest.mark.parametrize(
    "spec, least, most",
    [
        ({"Type": "String", "AllowedValues": ["no", "yes", "maybe"]}, "no", "maybe"),
        ({"Type": "Number", "AllowedValues": [5, 10, 60]}, "5", "60"),
        ({"Type": "Number", "MinValue": 2, "MaxValue": 1000}, "2", "1000"),
        ({"Type": "String", "AllowedPattern": "v[0-9]{1,3}(,[0-9]{2})*", "MaxLength": 10}, "v0", "v000,00,00"),
        ({"Type": "String", "AllowedPattern": "(a|bcd)?", "MaxLength": 2}, "", "a"),
        ({"Type": "CommaDelimitedList", "AllowedPattern": "a{1000}"}, ["a" * 1000], ["a" * 1000] * 4),
    ],
)
def test_values_are_as_short_and_as_long_as_a_parameter_accepts(spec, least, most):
    assert (values.shortest(spec), values.longest(spec)) == (least, most)
