"""Runs the code of the function that tries new versions before they get traffic (in template.yaml) against stubs of AWS."""

import io
import json
import pathlib
import types

import botocore.session
import pytest
from botocore.response import StreamingBody
from botocore.stub import Stubber

from expand import source

FIRST = "arn:aws:lambda:eu-west-1:123456789012:function:messaging-contacts:7"
SECOND = "arn:aws:lambda:eu-west-1:123456789012:function:messaging-sweeper:12"
HOOK = {"DeploymentId": "d-A1B2C3D4E", "LifecycleEventHookExecutionId": "execution"}


@pytest.fixture
def aws(monkeypatch):
    """Stubs that accept only what the services' models accept, and the code that uses them."""
    monkeypatch.setenv("VERSIONS", f"{FIRST} {SECOND}")
    session = botocore.session.get_session()
    clients = {
        name: session.create_client(name, region_name="eu-west-1", aws_access_key_id="x", aws_secret_access_key="x")
        for name in ("lambda", "codedeploy")
    }
    stubs = {name: Stubber(client) for name, client in clients.items()}
    for stub in stubs.values():
        stub.activate()
    module = types.ModuleType("index")
    code = source()["Resources"]["RolloutCheckFunction"]["Properties"]["Code"]["ZipFile"]
    exec(compile(code.replace("import boto3\n", ""), "index.py", "exec"), module.__dict__)
    module.boto3 = types.SimpleNamespace(client=clients.__getitem__)
    return types.SimpleNamespace(code=module, **stubs)


def answers(aws, version, payload, **more):
    body = json.dumps(payload).encode()
    response = {"StatusCode": 200, "Payload": StreamingBody(io.BytesIO(body), len(body))} | more
    aws.__dict__["lambda"].add_response("invoke", response, {"FunctionName": version, "Payload": json.dumps(aws.code.EVENT)})


def reported(aws, status):
    expected = {"deploymentId": HOOK["DeploymentId"], "lifecycleEventHookExecutionId": "execution", "status": status}
    aws.codedeploy.add_response("put_lifecycle_event_hook_execution_status", {}, expected)


def test_versions_that_respond_get_traffic(aws):
    answers(aws, FIRST, {"statusCode": 403, "body": "{}"})
    answers(aws, SECOND, None)
    reported(aws, "Succeeded")
    aws.code.check(HOOK, None)
    aws.codedeploy.assert_no_pending_responses()


@pytest.mark.parametrize(
    "payload, more",
    [
        ({"errorType": "Runtime.ExitError", "errorMessage": "exit status 101"}, {"FunctionError": "Unhandled"}),
        ({"statusCode": 500, "body": "{}"}, {}),
    ],
)
def test_a_version_that_fails_gets_no_traffic_and_is_named(aws, payload, more, capsys):
    answers(aws, FIRST, payload, **more)
    answers(aws, SECOND, {"batchItemFailures": []})
    reported(aws, "Failed")
    aws.code.check(HOOK, None)
    aws.codedeploy.assert_no_pending_responses()
    assert FIRST in json.loads(capsys.readouterr().out)["problem"]


def test_a_check_that_crashes_reports_a_failure(aws):
    # Without a report, CodeDeploy would wait for an hour.
    aws.__dict__["lambda"].add_client_error("invoke", "AccessDeniedException")
    reported(aws, "Failed")
    with pytest.raises(Exception, match="AccessDenied"):
        aws.code.check(HOOK, None)
    aws.codedeploy.assert_no_pending_responses()


def test_the_event_is_the_one_that_all_functions_accept(aws):
    # tests/stack invokes each real function with this file.
    assert aws.code.EVENT == json.loads(pathlib.Path(__file__).with_name("rollout-check.json").read_text())
