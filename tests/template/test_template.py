"""template.yaml fulfils every invariant, and every invariant detects a template that violates it."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

from expand import TEMPLATE, Stack, expanded, expanded_fast, source
from invariants import INVARIANTS, NO_ALARMS_RUNBOOKS, RUNBOOKS

# In the name and the description of a deployment.
HASH = re.compile(r"(?<=ApiDeployment)[0-9a-f]{10}|(?<=deployment id: )[0-9a-f]{40}")


def test_sam_and_its_linter_accept_the_template():
    sam = pathlib.Path(sys.executable).with_name("sam")
    environment = os.environ | {"SAM_CLI_TELEMETRY": "0", "AWS_DEFAULT_REGION": "eu-west-1"}
    ran = subprocess.run(
        [sam, "validate", "--lint", "--template", TEMPLATE], env=environment, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("invariant", INVARIANTS, ids=lambda check: check.__name__)
def test_the_template_keeps(invariant):
    assert list(invariant(source())) == []


def test_a_fast_expansion_is_the_one_that_sam_makes():
    template, values = json.dumps(source()), json.dumps(Stack(source()).values)
    made, fast = (json.loads(HASH.sub("", expand(template, values))) for expand in (expanded, expanded_fast))
    assert fast == made


def resource(template, name):
    return template["Resources"][name]["Properties"]


def statements(template, role):
    return resource(template, role)["Policies"][0]["PolicyDocument"]["Statement"]


def grant(role, action, to):
    return lambda template: statements(template, role).append({"Effect": "Allow", "Action": action, "Resource": to})


def set_in(name, *path, to):
    def change(template):
        node = resource(template, name)
        for step in path[:-1]:
            node = node[step]
        node[path[-1]] = to

    return change


def remove(name, *path):
    def change(template):
        node = resource(template, name)
        for step in path[:-1]:
            node = node[step]
        del node[path[-1]]

    return change


def in_resource(name, attribute, to):
    return lambda template: template["Resources"][name].update({attribute: to})


def parameter(name, **spec):
    return lambda template: template["Parameters"][name].update(spec)


def hidden_parameter(template):
    template["Parameters"]["Seed"] = {"Type": "String", "NoEcho": True, "Default": "x"}
    resource(template, "SweeperFunction")["Environment"]["Variables"]["SEED"] = {"Ref": "Seed"}


def without_open_api_3(template):
    del template["Globals"]["Api"]["OpenApiVersion"]


def any_method(template):
    resource(template, "UsersFunction")["Events"]["Get"]["Properties"]["Method"] = "ANY"


def by_hand(**changes):
    """Writes the capture route into the API's own definition, with changes to the integration."""

    def change(template):
        function = resource(template, "LeadsFunction")
        path = function["Events"].pop("Accept")["Properties"]["Path"]
        integration = {
            "type": "aws_proxy",
            "httpMethod": "POST",
            "uri": {"Fn::Sub": "arn:aws:apigateway:eu-west-1:lambda:path/2015-03-31/functions/${LeadsFunction.Arn}/invocations"},
        }
        operation = {"responses": {}, "x-amazon-apigateway-integration": integration | changes}
        resource(template, "CaptureApi")["DefinitionBody"]["paths"][path] = {"post": operation}
        template["Resources"]["Permission"] = permission("LeadsFunction", f"${{CaptureApi}}/*/POST{path}")

    return change


def permission(function, source):
    properties = {
        "Action": "lambda:InvokeFunction",
        "FunctionName": {"Ref": function},
        "Principal": "apigateway.amazonaws.com",
        "SourceArn": {"Fn::Sub": f"arn:${{AWS::Partition}}:execute-api:${{AWS::Region}}:${{AWS::AccountId}}:{source}"},
    }
    return {"Type": "AWS::Lambda::Permission", "Properties": properties}


def another_permission(template):
    template["Resources"]["Permission"] = permission("SweeperFunction", "${CaptureApi}/*/POST/sweep")


def guarding(api, stage):
    arn = f"arn:${{AWS::Partition}}:apigateway:${{AWS::Region}}::/restapis/{api}/stages/{stage}"
    return set_in("CaptureWebAclAssociation", "ResourceArn", to={"Fn::Sub": arn})


def data_key(role, **changes):
    """Changes the right of a role to use the key of the data."""

    def change(template):
        (choice,) = [one["Fn::If"] for one in statements(template, role) if one.get("Fn::If", [None])[0] == "HasDataKey"]
        choice[1].update(changes)

    return change


def tracing(role, **changes):
    """The right of a role to trace, changed."""

    def change(template):
        (choice,) = [one["Fn::If"] for one in statements(template, role) if one.get("Fn::If", [None])[0] == "HasTracing"]
        choice[1].update(changes)

    return change


def beside(role, condition, action):
    """A right of a role moved into a policy of its own, for which nothing waits."""

    def change(template):
        for statement in list(statements(template, role)):
            given, allowed = (statement["Fn::If"][:2]) if "Fn::If" in statement else (None, statement)
            if given == condition and action in allowed["Action"]:
                statements(template, role).remove(statement)
                document = {"Version": "2012-10-17", "Statement": [allowed]}
                properties = {"PolicyName": "beside", "Roles": [{"Ref": role}], "PolicyDocument": document}
                policy = {"Type": "AWS::IAM::Policy", "Properties": properties}
                template["Resources"]["Beside"] = policy | ({"Condition": condition} if condition else {})
                return
        raise AssertionError(f"{role} has no right to {action}")

    return change


def without(*path):
    def change(template):
        node = template
        for step in path[:-1]:
            node = node[step]
        del node[path[-1]]

    return change


def written(*path, to):
    def change(template):
        node = template
        for step in path[:-1]:
            node = node[step]
        node[path[-1]] = to

    return change


def called_as_it_is(template):
    template["Resources"]["Permission"] = permission("UsersFunction", "${IntegrationsApi}/*/GET/x")


def alarm_like(name, **changes):
    """Adds a copy of an existing alarm with another name and with changes."""

    def change(template):
        properties = resource(template, name) | {"AlarmName": {"Fn::Sub": "${AWS::StackName}-another"}} | changes
        template["Resources"]["Another"] = {"Type": "AWS::CloudWatch::Alarm", "Condition": "IsWatched", "Properties": properties}

    return change


def log_of(api, old, new):
    def change(template):
        setting = resource(template, api)["AccessLogSetting"]["Fn::If"][1]
        assert old in setting["Format"]
        setting["Format"] = setting["Format"].replace(old, new)

    return change


def dashboard(old, new):
    def change(template):
        body = resource(template, "Dashboard")["DashboardBody"]
        assert old in body["Fn::Sub"]
        body["Fn::Sub"] = body["Fn::Sub"].replace(old, new)

    return change


TABLE = {"Fn::GetAtt": ["ContactsTable", "Arn"]}
SECRETS = {"Fn::GetAtt": ["SecretsTable", "Arn"]}
RELAY_EVENT = ("Events", "Contacts", "Properties")
DELIVERY_EVENT = ("Events", "Deliveries", "Properties")

MUTATIONS = [
    ("visibility_covers_the_time_outs_of_the_functions", set_in("DeliveryQueue", "VisibilityTimeout", to=359)),
    ("visibility_covers_the_time_outs_of_the_functions", remove("DeliveryQueue", "VisibilityTimeout")),
    ("visibility_covers_the_time_outs_of_the_functions", parameter("DeliveryTimeoutSeconds", AllowedValues=[45, 61])),
    ("visibility_covers_the_time_outs_of_the_functions", set_in("InboxQueue", "VisibilityTimeout", to=89)),
    ("visibility_covers_the_time_outs_of_the_functions", set_in("InboxQueue", "RedrivePolicy", "maxReceiveCount", to=19)),
    ("only_the_only_copies_of_work_come_again_before_six_time_outs", set_in("SendQueue", "VisibilityTimeout", to=359)),
    ("only_the_only_copies_of_work_come_again_before_six_time_outs", set_in("InboxQueue", "VisibilityTimeout", to=360)),
    ("every_queue_has_a_dead_letter_queue_that_keeps_longer", remove("DeliveryQueue", "RedrivePolicy")),
    (
        "every_queue_has_a_dead_letter_queue_that_keeps_longer",
        set_in("DeliveryDeadLetterQueue", "MessageRetentionPeriod", to=345600),
    ),
    ("queues_are_encrypted", remove("DeliveryQueue", "SqsManagedSseEnabled")),
    ("lambda_ends_no_chain_of_messages_that_functions_need", remove("InboxFunction", "RecursiveLoop")),
    ("lambda_ends_no_chain_of_messages_that_functions_need", set_in("LeadSenderFunction", "RecursiveLoop", to="Terminate")),
    ("lambda_ends_no_chain_of_messages_that_functions_need", set_in("UploadsFunction", "RecursiveLoop", to="Allow")),
    ("lambda_ends_no_chain_of_messages_that_functions_need", grant("UploadsRole", "sqs:SendMessage", {"Fn::GetAtt": ["UploadQueue", "Arn"]})),
    ("lambda_ends_no_chain_of_messages_that_functions_need", grant("UploadsRole", "s3:PutObject", {"Fn::Sub": "${MediaBucket.Arn}/*"})),
    ("batches_fail_item_by_item", remove("EventRelayFunction", *RELAY_EVENT, "FunctionResponseTypes")),
    ("batches_fail_item_by_item", remove("WebhookDeliveryFunction", *DELIVERY_EVENT, "FunctionResponseTypes")),
    (
        "a_record_that_fails_for_good_goes_to_the_failure_bucket",
        remove("EventRelayFunction", *RELAY_EVENT, "DestinationConfig"),
    ),
    (
        "a_record_that_fails_for_good_goes_to_the_failure_bucket",
        set_in(
            "EventRelayFunction",
            *RELAY_EVENT,
            "DestinationConfig",
            to={"OnFailure": {"Destination": {"Fn::GetAtt": ["DeliveryDeadLetterQueue", "Arn"]}}},
        ),
    ),
    (
        "a_record_that_fails_for_good_goes_to_the_failure_bucket",
        remove("EventRelayFunction", *RELAY_EVENT, "MaximumRetryAttempts"),
    ),
    (
        "a_record_that_fails_for_good_goes_to_the_failure_bucket",
        remove("EventRelayFunction", *RELAY_EVENT, "BisectBatchOnFunctionError"),
    ),
    (
        "a_record_that_fails_for_good_goes_to_the_failure_bucket",
        set_in("EventRelayFunction", *RELAY_EVENT, "MaximumRecordAgeInSeconds", to=-1),
    ),
    (
        "a_record_that_fails_for_good_goes_to_the_failure_bucket",
        set_in("EventRelayFunction", *RELAY_EVENT, "MaximumRecordAgeInSeconds", to=86400),
    ),
    (
        "a_record_that_fails_for_good_goes_to_the_failure_bucket",
        set_in("EventRelayFunction", *RELAY_EVENT, "MaximumRetryAttempts", to=1000),
    ),
    (
        "a_record_that_fails_for_good_goes_to_the_failure_bucket",
        set_in("EventRelayFunction", *RELAY_EVENT, "MaximumRetryAttempts", to=10000),
    ),
    ("a_record_that_fails_for_good_goes_to_the_failure_bucket", set_in("EventRelayFunction", "Timeout", to=60)),
    (
        "what_cannot_be_processed_is_put_into_quarantine_and_nothing_else_there_is_read",
        grant("InboxRole", "s3:GetObject", {"Fn::Sub": "${FailureBucket.Arn}/inbound/*"}),
    ),
    (
        "what_cannot_be_processed_is_put_into_quarantine_and_nothing_else_there_is_read",
        set_in("InboxQueue", "RedrivePolicy", "maxReceiveCount", to=21),
    ),
    ("the_relay_looks_at_the_failure_bucket_once_an_hour", remove("EventRelayFunction", "Events", "Redrive")),
    ("the_relay_looks_at_the_failure_bucket_once_an_hour", grant("EventRelayRole", "s3:GetObjectVersion", {"Fn::Sub": "${FailureBucket.Arn}/*"})),
    ("the_relay_is_watched_long_before_it_gives_anything_up", set_in("RelayAboutToLose", "Threshold", to=43200000)),
    (
        "the_relay_is_watched_long_before_it_gives_anything_up",
        lambda template: template["Resources"].pop("RelayAboutToLose"),
    ),
    (
        "the_relay_is_watched_long_before_it_gives_anything_up",
        set_in("EventRelayFunction", "Events", "Media", "Properties", "MaximumRecordAgeInSeconds", to=3600),
    ),
    (
        "the_relay_names_the_records_that_failed_unless_told_otherwise",
        parameter("PartialBatches", Default="false"),
    ),
    (
        "the_relay_names_the_records_that_failed_unless_told_otherwise",
        set_in("EventRelayFunction", "Environment", "Variables", "PARTIAL_BATCHES", to="true"),
    ),
    (
        "our_own_outages_are_told_by_a_url_of_the_operators_choice",
        set_in("WebhookDeliveryFunction", "Environment", "Variables", "EGRESS_CONTROL_URL", to={"Ref": "DeliveryQueue"}),
    ),
    (
        "our_own_outages_are_told_by_a_url_of_the_operators_choice",
        parameter("EgressControlUrl", AllowedPattern="(https?://.*)?"),
    ),
    ("helper_rows_never_wake_the_relay", remove("EventRelayFunction", *RELAY_EVENT, "FilterCriteria")),
    ("helper_rows_never_wake_the_relay", remove("EventRelayFunction", "Events", "Messages")),
    (
        "helper_rows_never_wake_the_relay",
        set_in(
            "EventRelayFunction", "Events", "Leads", "Properties", "FilterCriteria", "Filters", 0, "Pattern",
            to='{"dynamodb":{"Keys":{"sk":{"S":["L"]}}}}',
        ),
    ),
    ("a_visit_fits_into_its_function_and_that_into_its_lease", parameter("SenderTimeoutSeconds", AllowedValues=[5, 60])),
    ("a_visit_fits_into_its_function_and_that_into_its_lease", lambda template: template["Rules"].pop("SenderWithin60Seconds")),
    ("a_visit_fits_into_its_function_and_that_into_its_lease", lambda template: template.pop("Rules")),
    (
        "a_visit_fits_into_its_function_and_that_into_its_lease",
        lambda template: template["Rules"].pop("Within60Seconds"),
    ),
    ("a_visit_fits_into_its_function_and_that_into_its_lease", parameter("LeaseSeconds", Default=30)),
    (
        "a_visit_fits_into_its_function_and_that_into_its_lease",
        parameter("AttemptTimeoutSeconds", AllowedValues=[1, 2, 5, 10, 15, 30, 45]),
    ),
    ("the_sweeper_runs_every_minute_and_is_not_repeated", remove("SweeperFunction", "EventInvokeConfig")),
    (
        "the_sweeper_runs_every_minute_and_is_not_repeated",
        set_in("SweeperFunction", "Events", "EveryMinute", "Properties", "Schedule", to="rate(1 hour)"),
    ),
    ("no_role_has_a_wildcard", grant("ContactsRole", "dynamodb:*", TABLE)),
    ("no_role_has_a_wildcard", grant("ContactsRole", "*", TABLE)),
    ("no_role_has_a_wildcard", grant("ContactsRole", "dynamodb:Scan", TABLE)),
    ("no_role_has_a_wildcard", grant("ContactsRole", "dynamodb:PartiQLUpdate", TABLE)),
    ("no_role_has_a_wildcard", grant("SweeperRole", "sqs:SendMessage", "*")),
    ("no_role_has_a_wildcard", grant("SweeperRole", "dynamodb:GetItem", "arn:aws:dynamodb:*:*:table/*")),
    ("no_role_has_a_wildcard", set_in("UsersRole", "ManagedPolicyArns", to=["arn:aws:iam::aws:policy/X"])),
    ("no_role_has_a_wildcard", remove("UsersFunction", "Role")),
    (
        "each_function_has_a_role_of_its_own",
        set_in("UsersFunction", "Role", to={"Fn::GetAtt": ["AttributesRole", "Arn"]}),
    ),
    ("settings_put_secrets_that_they_cannot_read", grant("AttributesRole", "dynamodb:GetItem", SECRETS)),
    ("functions_touch_only_their_own_tables", grant("FilesRole", "dynamodb:GetItem", SECRETS)),
    (
        "functions_touch_only_their_own_tables",
        grant("SweeperRole", "dynamodb:Query", {"Fn::Sub": "${ConversationsTable.Arn}/index/list"}),
    ),
    ("secrets_and_settings_are_reached_by_their_keys_only", grant("SweeperRole", "dynamodb:GetItem", SECRETS)),
    (
        "secrets_and_settings_are_reached_by_their_keys_only",
        grant("UsersRole", "dynamodb:GetItem", {"Fn::GetAtt": ["WorkspacesTable", "Arn"]}),
    ),
    ("secrets_and_settings_are_reached_by_their_keys_only", grant("LeadsRole", "dynamodb:GetItem", SECRETS)),
    (
        "secrets_and_settings_are_reached_by_their_keys_only",
        grant("LeadsRole", "dynamodb:Query", {"Fn::GetAtt": ["WorkspacesTable", "Arn"]}),
    ),
    ("audit_entries_are_only_added", grant("AccessRole", "dynamodb:DeleteItem", {"Fn::GetAtt": ["AuditTable", "Arn"]})),
    ("audit_entries_are_only_added", grant("AccessRole", "dynamodb:PutItem", {"Fn::GetAtt": ["AuditTable", "Arn"]})),
    ("production_data_outlives_the_stack", in_resource("ContactsTable", "DeletionPolicy", "Delete")),
    ("production_data_outlives_the_stack", in_resource("ContactsTable", "UpdateReplacePolicy", "Delete")),
    ("production_data_outlives_the_stack", in_resource("MediaBucket", "DeletionPolicy", "Delete")),
    ("production_data_outlives_the_stack", in_resource("LimitsTable", "DeletionPolicy", "Retain")),
    ("production_data_outlives_the_stack", set_in("LimitsTable", "DeletionProtectionEnabled", to=False)),
    ("production_data_outlives_the_stack", remove("SecretsTable", "PointInTimeRecoverySpecification")),
    ("tables_have_the_agreed_shape", remove("WebhooksTable", "TimeToLiveSpecification")),
    ("tables_have_the_agreed_shape", set_in("ContactsTable", "StreamSpecification", "StreamViewType", to="KEYS_ONLY")),
    ("tables_have_the_agreed_shape", set_in("WebhooksTable", "AttributeDefinitions", 3, "AttributeType", to="S")),
    (
        "tables_have_the_agreed_shape",
        set_in("ContactsTable", "GlobalSecondaryIndexes", 0, "Projection", "ProjectionType", to="ALL"),
    ),
    ("tables_have_the_agreed_shape", set_in("LimitsTable", "TableName", to="limits")),
    (
        "tables_have_the_agreed_shape",
        set_in("LeadsTable", "GlobalSecondaryIndexes", 1, "Projection", "NonKeyAttributes", to=["phone"]),
    ),
    (
        "buckets_are_private_encrypted_and_tls_only",
        lambda template: template["Resources"].pop("MediaBucketPolicy"),
    ),
    ("buckets_are_private_encrypted_and_tls_only", remove("FailureBucket", "BucketEncryption")),
    (
        "buckets_are_private_encrypted_and_tls_only",
        set_in("MediaBucket", "PublicAccessBlockConfiguration", "BlockPublicPolicy", to=False),
    ),
    ("buckets_are_private_encrypted_and_tls_only", remove("MediaBucket", "LifecycleConfiguration")),
    (
        "browsers_may_only_put_to_the_media_bucket",
        set_in("MediaBucket", "CorsConfiguration", "CorsRules", 0, "AllowedMethods", to=["PUT", "GET"]),
    ),
    (
        "browsers_may_only_put_to_the_media_bucket",
        set_in("MediaBucket", "CorsConfiguration", "CorsRules", 0, "AllowedOrigins", to=["*"]),
    ),
    (
        "browsers_may_only_put_to_the_media_bucket",
        set_in("MediaBucket", "CorsConfiguration", "CorsRules", 0, "AllowedHeaders", to=["*"]),
    ),
    (
        "functions_and_their_environment_are_the_agreed_ones",
        set_in("SweeperFunction", "Environment", "Variables", "EXTRA", to="1"),
    ),
    ("functions_and_their_environment_are_the_agreed_ones", set_in("UsersFunction", "FunctionName", to="users")),
    ("no_secret_stands_in_an_environment_variable", hidden_parameter),
    (
        "no_secret_stands_in_an_environment_variable",
        set_in("SweeperFunction", "Environment", "Variables", "CURSOR_SECRET", to="1"),
    ),
    (
        "no_secret_stands_in_an_environment_variable",
        set_in("SweeperFunction", "Environment", "Variables", "X", to="{{resolve:secretsmanager:cursor}}"),
    ),
    ("functions_behind_the_gateway_answer_before_it_gives_up", set_in("UsersFunction", "Timeout", to=29)),
    (
        "functions_behind_the_gateway_answer_before_it_gives_up",
        set_in("UsersFunction", "Timeout", to={"Ref": "DeliveryTimeoutSeconds"}),
    ),
    ("every_function_logs_to_a_group_with_retention", remove("UsersLogGroup", "RetentionInDays")),
    ("every_function_logs_to_a_group_with_retention", remove("UsersFunction", "LoggingConfig")),
    (
        "every_function_logs_to_a_group_with_retention",
        set_in("UsersLogGroup", "LogGroupName", to="/aws/lambda/elsewhere"),
    ),
    ("routes_are_listed_one_by_one", any_method),
    ("routes_are_listed_one_by_one", remove("ContactsFunction", "Events", "Update")),
    ("routes_are_listed_one_by_one", remove("LeadsFunction", "Events", "Preflight")),
    ("the_signed_bytes_of_a_webhook_reach_the_function", remove("ProviderApi", "BinaryMediaTypes")),
    ("the_signed_bytes_of_a_webhook_reach_the_function", set_in("CaptureApi", "BinaryMediaTypes", to=["*~1*"])),
    ("the_only_copy_of_a_piece_is_kept_for_two_weeks", set_in("InboxQueue", "MessageRetentionPeriod", to=345600)),
    ("a_piece_is_given_up_before_the_time_out_of_inbox", set_in("InboxFunction", "Timeout", to=59)),
    ("routes_are_listed_one_by_one", remove("CaptureApi", "MergeDefinitions")),
    ("routes_are_listed_one_by_one", set_in("CaptureApi", "Cors", to="'*'")),
    ("the_gateway_hands_requests_on_whole_and_may_do_so", by_hand(type="mock")),
    ("the_gateway_hands_requests_on_whole_and_may_do_so", by_hand(httpMethod="OPTIONS")),
    ("the_gateway_hands_requests_on_whole_and_may_do_so", another_permission),
    ("preflights_are_answered_by_the_function", remove("LeadsFunction", "Events", "Preflight")),
    ("preflights_are_answered_by_the_function", set_in("CaptureApi", "Cors", to="'*'")),
    ("preflights_are_answered_by_the_function", set_in("IntegrationsApi", "Cors", to="'*'")),
    (
        "preflights_are_answered_by_the_function",
        set_in(
            "CaptureApi", "DefinitionBody", "paths", "/health", "get", "x-amazon-apigateway-integration",
            "responses", "default", "responseParameters",
            to={"method.response.header.Access-Control-Allow-Origin": "'*'"},
        ),
    ),
    (
        "preflights_are_answered_by_the_function",
        set_in(
            "CaptureApi", "GatewayResponses", "WAF_FILTERED", "ResponseParameters", "Headers",
            "Access-Control-Allow-Origin", to="'*'",
        ),
    ),
    ("strangers_cannot_take_the_concurrency_of_all_functions", remove("CaptureApi", "MethodSettings")),
    ("strangers_cannot_take_the_concurrency_of_all_functions", remove("ProviderApi", "MethodSettings")),
    ("strangers_cannot_take_the_concurrency_of_all_functions", remove("IntegrationsApi", "MethodSettings")),
    ("strangers_cannot_take_the_concurrency_of_all_functions", remove("CaptureApi", "MethodSettings", 1)),
    (
        "strangers_cannot_take_the_concurrency_of_all_functions",
        set_in("IntegrationsApi", "MethodSettings", 0, "ThrottlingBurstLimit", to={"Ref": "CaptureBurst"}),
    ),
    ("the_recommended_reservations_fit_their_accounts", parameter("LeadsReservedConcurrency", Description="0 = none.")),
    (
        "the_recommended_reservations_fit_their_accounts",
        parameter("ApiReservedConcurrency", Description="In an account of 10: 0. In an account of 1,000: 100."),
    ),
    (
        "the_recommended_reservations_fit_their_accounts",
        parameter("LeadsReservedConcurrency", Description="In an account of 10: 1. In an account of 1,000: 50."),
    ),
    (
        "the_recommended_reservations_fit_their_accounts",
        parameter("SenderReservedConcurrency", Description="In an account of 10: 0. In an account of 1,000: 20."),
    ),
    ("in_production_one_address_cannot_flood_an_api", parameter("ApiFirewall", Default="on")),
    (
        "in_production_one_address_cannot_flood_an_api",
        lambda template: template["Resources"]["ApiWebAcl"].pop("Condition"),
    ),
    (
        "a_web_acl_counts_the_requests_of_an_address_to_its_api",
        set_in("ApiWebAcl", "Rules", 0, "Statement", "RateBasedStatement", "Limit", to={"Ref": "CaptureRequestsPerAddress"}),
    ),
    (
        "a_web_acl_counts_the_requests_of_an_address_to_its_api",
        set_in("ApiWebAclAssociation", "WebACLArn", to={"Fn::GetAtt": ["CaptureWebAcl", "Arn"]}),
    ),
    (
        "the_gateway_answers_in_our_shapes",
        set_in("IntegrationsApi", "GatewayResponses", "WAF_FILTERED", "StatusCode", to="403"),
    ),
    ("in_production_one_address_cannot_flood_an_api", parameter("CaptureFirewall", Default="off")),
    (
        "in_production_one_address_cannot_flood_an_api",
        lambda template: template["Resources"]["CaptureWebAcl"].pop("Condition"),
    ),
    (
        "in_production_one_address_cannot_flood_an_api",
        lambda template: template["Resources"].pop("CaptureWebAclAssociation"),
    ),
    (
        "in_production_one_address_cannot_flood_an_api",
        lambda template: template["Conditions"].update(HasCaptureFirewall=template["Conditions"]["IsProduction"]),
    ),
    ("a_web_acl_counts_the_requests_of_an_address_to_its_api", guarding("${IntegrationsApi}", "${IntegrationsApi.Stage}")),
    ("a_web_acl_counts_the_requests_of_an_address_to_its_api", guarding("${CaptureApi}", "live")),
    (
        "a_web_acl_counts_the_requests_of_an_address_to_its_api",
        set_in("CaptureWebAcl", "DefaultAction", to={"Block": {}}),
    ),
    (
        "a_web_acl_counts_the_requests_of_an_address_to_its_api",
        set_in("CaptureWebAcl", "Rules", 0, "Statement", "RateBasedStatement", "Limit", to=300),
    ),
    (
        "a_web_acl_counts_the_requests_of_an_address_to_its_api",
        set_in("CaptureWebAcl", "Rules", 0, "Action", to={"Count": {}}),
    ),
    (
        "a_web_acl_counts_the_requests_of_an_address_to_its_api",
        set_in("CaptureWebAcl", "Rules", 0, "Action", "Block", "CustomResponse", to={"ResponseCode": 403}),
    ),
    (
        "a_web_acl_counts_the_requests_of_an_address_to_its_api",
        lambda template: resource(template, "CaptureWebAcl")["Rules"].append(
            resource(template, "CaptureWebAcl")["Rules"][0]
        ),
    ),
    (
        "a_web_acl_counts_the_requests_of_an_address_to_its_api",
        set_in("CaptureWebAcl", "VisibilityConfig", "CloudWatchMetricsEnabled", to=False),
    ),
    (
        "a_web_acl_counts_the_requests_of_an_address_to_its_api",
        set_in("CaptureWebAcl", "Rules", 0, "VisibilityConfig", "SampledRequestsEnabled", to=True),
    ),
    ("the_gateway_answers_in_our_shapes", remove("IntegrationsApi", "GatewayResponses", "THROTTLED")),
    (
        "the_gateway_answers_in_our_shapes",
        set_in("IntegrationsApi", "GatewayResponses", "INTEGRATION_TIMEOUT", "StatusCode", to="504"),
    ),
    (
        "the_gateway_answers_in_our_shapes",
        set_in(
            "CaptureApi", "GatewayResponses", "DEFAULT_4XX", "ResponseParameters", "Headers", "X-Request-Id",
            to="context.requestId",
        ),
    ),
    ("the_gateway_answers_in_our_shapes", remove("CaptureApi", "GatewayResponses", "WAF_FILTERED")),
    ("the_gateway_answers_in_our_shapes", set_in("ProviderApi", "GatewayResponses", "RESOURCE_NOT_FOUND", "StatusCode", to="404")),
    (
        "the_gateway_answers_in_our_shapes",
        remove("CaptureApi", "GatewayResponses", "DEFAULT_5XX", "ResponseParameters", "Headers", "Vary"),
    ),
    ("one_stage_called_live", without_open_api_3),
    (
        "own_host_names_are_optional_and_need_a_certificate",
        lambda template: template["Rules"].pop("OwnHostNameNeedsCertificate"),
    ),
    (
        "own_host_names_are_optional_and_need_a_certificate",
        lambda template: template["Resources"].pop("CaptureDomainMapping"),
    ),
    ("a_visit_fits_into_its_function_and_that_into_its_lease", parameter("LeaseSeconds", Default=45)),
    (
        "a_visit_fits_into_its_function_and_that_into_its_lease",
        written("Rules", "Within30Seconds", "Assertions", 1, "Assert", "Fn::Contains", 0, 0, to="30"),
    ),
    (
        "a_visit_fits_into_its_function_and_that_into_its_lease",
        written("Rules", "Within30Seconds", "Assertions", 0, "Assert", "Fn::Contains", 0, to=["1", "2", "5", "10", "15", "30"]),
    ),
    (
        "a_visit_fits_into_its_function_and_that_into_its_lease",
        written("Rules", "Within30Seconds", "Assertions", 0, "Assert", "Fn::Contains", 0, to=["1", "2", "5", "10"]),
    ),
    (
        "a_visit_fits_into_its_function_and_that_into_its_lease",
        parameter("DeliveryTimeoutSeconds", AllowedValues=[5, 10, 15, 30, 45, 60]),
    ),
    (
        "a_visit_fits_into_its_function_and_that_into_its_lease",
        parameter("SendLeaseSeconds", AllowedValues=[20, 30, 60, 90, 120]),
    ),
    ("each_queue_has_a_width_of_its_own", remove("WebhookDeliveryFunction", "Events", "SlowDeliveries")),
    ("each_queue_has_a_width_of_its_own", set_in("SlowDeliveryQueue", "QueueName", to="slow")),
    (
        "each_queue_has_a_width_of_its_own",
        set_in("WebhookDeliveryFunction", *DELIVERY_EVENT, "ScalingConfig", "MaximumConcurrency", to=50),
    ),
    ("each_queue_has_a_width_of_its_own", parameter("SlowDeliveryConcurrency", MinValue=1)),
    ("each_queue_has_a_width_of_its_own", set_in("InboxFunction", "Events", "Pieces", "Properties", "ScalingConfig", "MaximumConcurrency", to=50)),
    ("own_host_names_are_optional_and_need_a_certificate", remove("CaptureApi", "DisableExecuteApiEndpoint")),
    ("own_host_names_are_optional_and_need_a_certificate", set_in("ProviderApi", "DisableExecuteApiEndpoint", to=True)),
    ("production_without_a_key_for_its_secrets_is_warned", lambda template: template["Outputs"].pop("SecretsKeyWarning")),
    ("production_without_a_key_for_its_secrets_is_warned", lambda template: template["Outputs"]["SecretsKeyWarning"].pop("Condition")),
    ("no_role_has_a_wildcard", set_in("RolloutRole", "ManagedPolicyArns", to=["arn:aws:iam::aws:policy/AdministratorAccess"])),
    ("no_role_has_a_wildcard", data_key("UsersRole", Resource="*")),
    ("no_role_has_a_wildcard", tracing("UsersRole", Action=["xray:PutTraceSegments", "s3:GetObject"])),
    (
        "each_function_has_a_role_of_its_own",
        set_in(
            "RolloutRole", "AssumeRolePolicyDocument", "Statement", 0, "Principal", to={"AWS": "123456789012"},
        ),
    ),
    ("all_roles_may_trace_where_that_is_asked_for", grant("UsersRole", "xray:PutTraceSegments", "*")),
    ("all_roles_may_trace_where_that_is_asked_for", tracing("UsersRole", Action=["xray:PutTraceSegments"])),
    ("what_a_service_checks_is_created_before", without("Resources", "MediaBucket", "DependsOn")),
    ("every_upload_is_told_and_only_s3_may_tell_it", remove("MediaBucket", "NotificationConfiguration")),
    (
        "every_upload_is_told_and_only_s3_may_tell_it",
        set_in("UploadQueuePolicy", "PolicyDocument", "Statement", 0, "Principal", to="*"),
    ),
    (
        "every_upload_is_told_and_only_s3_may_tell_it",
        remove("UploadQueuePolicy", "PolicyDocument", "Statement", 0, "Condition"),
    ),
    ("data_is_kept_as_the_parameters_say", parameter("MessageRetentionDays", Default=30)),
    ("data_is_kept_as_the_parameters_say", parameter("EventRetentionDays", MinValue=0)),
    ("data_is_kept_as_the_parameters_say", parameter("LeadRetentionDays", MaxValue=36500)),
    (
        "data_is_kept_as_the_parameters_say",
        set_in("LeadSenderFunction", "Environment", "Variables", "MESSAGE_RETENTION_DAYS", to=0),
    ),
    (
        "a_key_of_the_operator_encrypts_all_data_or_none",
        set_in("UploadQueue", "KmsMasterKeyId", to={"Ref": "DataKmsKeyArn"}),
    ),
    ("what_a_service_checks_is_created_before", tracing("UsersRole", Action=["xray:PutTraceSegments"])),
    ("what_a_service_checks_is_created_before", beside("UsersRole", "HasTracing", "xray:PutTraceSegments")),
    ("what_a_service_checks_is_created_before", beside("MessageSenderRole", None, "sqs:ReceiveMessage")),
    ("what_a_service_checks_is_created_before", beside("EventRelayRole", None, "dynamodb:GetRecords")),
    ("what_a_service_checks_is_created_before", beside("EventRelayRole", None, "s3:PutObject")),
    ("what_a_service_checks_is_created_before", beside("LeadSenderRole", "HasDataKey", "kms:Decrypt")),
    (
        "what_a_service_checks_is_created_before",
        set_in("UsersRole", "AssumeRolePolicyDocument", "Statement", 0, "Principal", to={"Service": "ec2.amazonaws.com"}),
    ),
    (
        "what_a_service_checks_is_created_before",
        set_in(
            "MediaBucket", "NotificationConfiguration",
            to={"LambdaConfigurations": [{"Event": "s3:ObjectCreated:*", "Function": {"Ref": "FilesFunctionAliaslive"}}]},
        ),
    ),
    ("all_roles_may_use_the_key_of_the_data_for_that_data", data_key("SweeperRole", Condition={})),
    ("all_roles_may_use_the_key_of_the_data_for_that_data", data_key("SweeperRole", Action="kms:Decrypt")),
    ("all_roles_may_use_the_key_of_the_data_for_that_data", grant("SweeperRole", "kms:GenerateDataKey", "arn:aws:kms:x")),
    ("a_key_of_the_operator_encrypts_all_data_or_none", remove("LeadsTable", "SSESpecification")),
    ("a_key_of_the_operator_encrypts_all_data_or_none", set_in("SendQueue", "SqsManagedSseEnabled", to=True)),
    (
        "a_key_of_the_operator_encrypts_all_data_or_none",
        set_in(
            "MediaBucket", "BucketEncryption", "ServerSideEncryptionConfiguration", 0, "ServerSideEncryptionByDefault",
            to={"SSEAlgorithm": "AES256"},
        ),
    ),
    (
        "a_key_of_the_operator_encrypts_all_data_or_none",
        lambda template: resource(template, "SecretsTable").update(
            SSESpecification=resource(template, "LeadsTable")["SSESpecification"]
        ),
    ),
    ("tables_are_capped_where_asked_for", remove("LimitsTable", "OnDemandThroughput")),
    ("tables_are_capped_where_asked_for", remove("LeadsTable", "GlobalSecondaryIndexes", 1, "OnDemandThroughput")),
    ("tables_are_capped_where_asked_for", parameter("TableReadCap", Default=100)),
    ("concurrency_is_reserved_where_asked_for", remove("UsersFunction", "ReservedConcurrentExecutions")),
    ("concurrency_is_reserved_where_asked_for", set_in("SweeperFunction", "ReservedConcurrentExecutions", to=1)),
    ("requests_are_traced_where_asked_for", parameter("Tracing", Default="on")),
    ("requests_are_traced_where_asked_for", without("Globals", "Api", "TracingEnabled")),
    ("requests_are_traced_where_asked_for", set_in("UsersFunction", "Tracing", to="Active")),
    (
        "tenants_choose_trusted_receivers_only_where_allowed",
        set_in("EndpointsFunction", "Environment", "Variables", "TRUSTED_RECEIVERS", to={"Ref": "TrustedReceivers"}),
    ),
    ("tenants_choose_trusted_receivers_only_where_allowed", parameter("SelfServiceTrustedReceivers", Default="yes")),
    (
        "a_trusted_receiver_is_an_origin_without_userinfo",
        parameter("TrustedReceivers", AllowedPattern=r"(https://[^/,\s]+(,https://[^/,\s]+)*)?"),
    ),
    ("new_versions_take_over_gradually_where_it_matters", written("Mappings", "Rollouts", "auto", "production", to="false")),
    ("new_versions_take_over_gradually_where_it_matters", written("Mappings", "Rollouts", "auto", "development", to="true")),
    ("new_versions_take_over_gradually_where_it_matters", written("Mappings", "Rollouts", "auto", "Type", to="AllAtOnce")),
    ("new_versions_take_over_gradually_where_it_matters", written("Globals", "Function", "DeploymentPreference", "Enabled", to=False)),
    ("new_versions_take_over_gradually_where_it_matters", without("Resources", "RolloutRole", "Condition")),
    ("new_versions_take_over_gradually_where_it_matters", without("Mappings", "Rollouts", "Linear10PercentEvery2Minutes")),
    ("a_rollout_that_raises_an_alarm_is_taken_back", remove("SweeperFunction", "DeploymentPreference")),
    (
        "a_rollout_that_raises_an_alarm_is_taken_back",
        set_in("ContactsRolloutErrors", "Dimensions", to=[{"Name": "FunctionName", "Value": {"Ref": "ContactsFunction"}}]),
    ),
    (
        "a_rollout_that_raises_an_alarm_is_taken_back",
        written("Resources", "RecordsNotRelayed", "Condition", to="IsProduction"),
    ),
    ("a_new_version_is_tried_before_it_gets_traffic", without("Globals", "Function", "DeploymentPreference", "Hooks")),
    ("a_new_version_is_tried_before_it_gets_traffic", set_in("RolloutCheckFunction", "FunctionName", to="check")),
    (
        "a_new_version_is_tried_before_it_gets_traffic",
        remove("RolloutCheckFunction", "Environment", "Variables", "VERSIONS", "Fn::Join", 1, 0),
    ),
    (
        "a_new_version_is_tried_before_it_gets_traffic",
        lambda template: statements(template, "RolloutCheckRole")[1]["Resource"].pop(),
    ),
    ("a_new_version_is_tried_before_it_gets_traffic", without("Resources", "RolloutCheckFunction", "Condition")),
    ("earlier_versions_remain", without("Resources", "UsersFunction", "UpdateReplacePolicy")),
    ("earlier_versions_remain", in_resource("UsersFunction", "DeletionPolicy", "Delete")),
    ("requests_are_logged_by_ids_where_asked_for", remove("CaptureApi", "AccessLogSetting")),
    ("requests_are_logged_by_ids_where_asked_for", log_of("IntegrationsApi", '"status"', '"ip":"$context.identity.sourceIp","status"')),
    ("requests_are_logged_by_ids_where_asked_for", log_of("IntegrationsApi", '"$context.resourcePath"', '"$context.path"')),
    ("requests_are_logged_by_ids_where_asked_for", log_of("CaptureApi", '"$context.requestId"', '"$context.extendedRequestId"')),
    ("requests_are_logged_by_ids_where_asked_for", set_in("CaptureAccessLogGroup", "LogGroupName", to="/aws/apigateway/x")),
    ("requests_are_logged_by_ids_where_asked_for", without("Resources", "GatewayLogsWriter", "DeletionPolicy")),
    (
        "requests_are_logged_by_ids_where_asked_for",
        written("Conditions", "SetsGatewayLogsRole", to={"Condition": "HasAccessLogs"}),
    ),
    ("what_a_service_checks_is_created_before", without("Resources", "CaptureAccessLogGroup", "Metadata")),
    (
        "what_a_service_checks_is_created_before",
        set_in("GatewayLogsWriter", "AssumeRolePolicyDocument", "Statement", 0, "Principal", to={"Service": "lambda.amazonaws.com"}),
    ),
    ("no_role_has_a_wildcard", grant("RolloutCheckRole", "lambda:InvokeFunction", "arn:aws:lambda:eu-west-1:123456789012:function:*")),
    ("no_role_has_a_wildcard", set_in("GatewayLogsWriter", "ManagedPolicyArns", to=["arn:aws:iam::aws:policy/CloudWatchFullAccess"])),
    ("everything_calls_the_alias", called_as_it_is),
    ("everything_calls_the_alias", without("Globals", "Function", "AutoPublishAlias")),
    ("everything_calls_the_alias", by_hand()),
    ("a_changed_parameter_publishes_a_version", remove("UsersFunction", "AutoPublishAliasAllProperties")),
    ("a_changed_parameter_publishes_a_version", remove("UsersFunction", "VersionDescription")),
    ("a_changed_parameter_publishes_a_version", set_in("UsersFunction", "Timeout", to={"Ref": "SendTimeoutSeconds"})),
    (
        "a_changed_parameter_publishes_a_version",
        set_in("WebhookDeliveryFunction", "VersionDescription", to={"Fn::Sub": "${Revision} ${Architecture} ${LogLevel} ${Tracing}"}),
    ),
    (
        "a_changed_parameter_publishes_a_version",
        set_in(
            "UsersFunction", "VersionDescription",
            to={"Fn::Sub": "${Revision} ${Architecture} ${LogLevel} ${Tracing} ${RetrySchedule}"},
        ),
    ),
    ("alarms_exist_where_they_are_wanted", parameter("Alarms", Default="off")),
    ("alarms_exist_where_they_are_wanted", without("Resources", "SweeperSilent", "Condition")),
    ("alarms_exist_where_they_are_wanted", without("Resources", "Dashboard", "Condition")),
    ("alarms_exist_where_they_are_wanted", remove("FailureBucket", "MetricsConfigurations")),
    ("alarms_tell_the_topic_and_know_what_silence_means", remove("RelayBehind", "AlarmActions")),
    ("alarms_tell_the_topic_and_know_what_silence_means", set_in("RelayBehind", "OKActions", to=["arn:aws:sns:x"])),
    ("alarms_tell_the_topic_and_know_what_silence_means", set_in("SweeperSilent", "TreatMissingData", to="notBreaching")),
    ("alarms_tell_the_topic_and_know_what_silence_means", set_in("RelayBehind", "TreatMissingData", to="missing")),
    ("alarms_tell_the_topic_and_know_what_silence_means", set_in("RelayLag", "AlarmName", to="relay-lag")),
    ("every_function_queue_and_api_is_watched", lambda template: template["Resources"].pop("UsersErrors")),
    ("every_function_queue_and_api_is_watched", lambda template: template["Resources"].pop("SlowDeliveryQueueAge")),
    ("every_function_queue_and_api_is_watched", set_in("LeadDeadLetters", "MetricName", to="NumberOfMessagesSent")),
    (
        "every_function_queue_and_api_is_watched",
        set_in("FailureBucketArrivals", "Dimensions", 1, "Value", to="other"),
    ),
    ("what_alarms_and_dashboard_count_is_counted", set_in("RelayLag", "MetricName", to="RelayLagging")),
    ("what_alarms_and_dashboard_count_is_counted", alarm_like("EgressFailuresFast", Dimensions=[
        {"Name": "Stack", "Value": {"Ref": "AWS::StackName"}}, {"Name": "Track", "Value": "quick"},
    ])),
    ("what_alarms_and_dashboard_count_is_counted", dashboard("SendsRetried", "SendsRepeated")),
    ("what_alarms_and_dashboard_count_is_counted", dashboard("-message-sends-dlq", "-messages-dlq")),
    ("what_alarms_and_dashboard_count_is_counted", dashboard('"EventsRecorded"', '"RelayLag"')),
    (
        "every_alarm_has_a_runbook_and_every_runbook_an_alarm",
        alarm_like("RelayLag"),
    ),
    (
        "every_alarm_has_a_runbook_and_every_runbook_an_alarm",
        set_in("RelayLag", "AlarmDescription", to="Changes wait. Runbook: docs/runbooks/relay-lag.md"),
    ),
    ("every_alarm_has_a_runbook_and_every_runbook_an_alarm", set_in("RelayLag", "AlarmDescription", to="Changes wait.")),
    ("every_alarm_has_a_runbook_and_every_runbook_an_alarm", lambda template: template["Resources"].pop("CaptchaUnavailable")),
    ("outputs_are_the_agreed_ones", lambda template: template["Outputs"].pop("DeliveryDlqUrl")),
]


@pytest.mark.parametrize("name, mutate", MUTATIONS, ids=[f"{index}-{name}" for index, (name, _) in enumerate(MUTATIONS)])
def test_a_spoiled_template_is_noticed_by(name, mutate):
    template = source()
    mutate(template)
    check = next(check for check in INVARIANTS if check.__name__ == name)
    assert next(check(template), None) is not None


RUNBOOK_SECTIONS = ["What it means", "What customers see", "First look", "How to fix it", "When it is over"]


@pytest.mark.parametrize("page", sorted(path.stem for path in RUNBOOKS.glob("*.md") if path.stem not in NO_ALARMS_RUNBOOKS))
def test_a_runbook_tells_what_it_is_when_it_is_over_and_all_between(page):
    lines = (RUNBOOKS / f"{page}.md").read_text().splitlines()
    assert [line.removeprefix("## ") for line in lines if line.startswith("## ")] == RUNBOOK_SECTIONS
    assert lines[2].startswith("Alarm")


def test_every_invariant_has_been_seen_to_fail():
    assert {check.__name__ for check in INVARIANTS} == {name for name, _ in MUTATIONS}
