"""The smoke test passes on a whole stack, and its verdict names what is broken."""

import json
import pathlib
import re
import subprocess
import sys
import urllib.request

import boto3
import pytest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE))
import smoke  # noqa: E402
from local_stack import running  # noqa: E402


@pytest.fixture(scope="module")
def stack_file():
    with running("smoke") as file:
        yield file


def ran(file):
    return subprocess.run([sys.executable, HERE / "smoke.py", "--local", file], capture_output=True, text=True)


def lines(ended):
    return [line for line in ended.stdout.splitlines() if line.startswith(("ok", "FAILED  "))]


def received(stack):
    with urllib.request.urlopen(f"{stack['receiverLedgerUrl']}/ledger") as answer:
        return [request for request in json.load(answer) if request["path"] == "/ok/smoke"]


def client(stack, service):
    access = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    return boto3.client(service, endpoint_url=stack["emulatorUrl"], region_name=stack["region"], **access)


def test_a_whole_stack_passes_every_check_and_the_receiver_gets_the_events(stack_file):
    stack = json.loads(stack_file.read_text())
    ended = ran(stack_file)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert len(lines(ended)) == len(smoke.CHECKS) + 1
    assert all(line.startswith("ok") for line in lines(ended)), ended.stdout
    assert ended.stdout.splitlines()[-1].startswith("OK: the stack ")
    assert len(received(stack)) >= 4


def test_it_takes_back_what_it_made(stack_file):
    stack = json.loads(stack_file.read_text())
    target = smoke.Target.local(stack_file)
    run = smoke.Smoke(target)
    assert smoke.run(run) == 0
    status, _ = run.api("GET", "/contacts", key=stack["workspaces"][0]["apiKey"])
    assert status == 403, "the key of another workspace"
    assert [key["revokedAt"] is not None for key in run.of_workspace("key", "list")] == [True, True]
    assert run.of_workspace("webhook", "list") == []
    assert run.of_workspace("capture", "show")["enabled"] is False
    assert run.of_workspace("opt-out", "list") == []


def test_a_dead_letter_fails_the_verdict(stack_file):
    stack = json.loads(stack_file.read_text())
    sqs = client(stack, "sqs")
    [url] = [url for url in sqs.list_queues()["QueueUrls"] if url.endswith("-lead-sends-dlq")]
    sqs.send_message(QueueUrl=url, MessageBody="{}")
    ended = ran(stack_file)
    sqs.purge_queue(QueueUrl=url)
    assert ended.returncode == 1
    assert [line for line in lines(ended) if line.startswith("FAILED")] == [
        "FAILED   the dead-letter queues are empty: LeadDlqUrl holds 1 messages"
    ]
    assert ended.stdout.splitlines()[-1].startswith("FAILED: 1 of ")


def test_a_receiver_that_refuses_fails_the_verdict(stack_file, monkeypatch):
    monkeypatch.setattr(smoke, "PATIENCE_SECONDS", 15)
    target = smoke.Target.local(stack_file)
    target.receiver = target.receiver.replace("/ok/smoke", "/status/500/smoke")
    said = []
    monkeypatch.setattr("builtins.print", lambda line="", **_: said.append(line))
    # The drain of many deliveries needs a receiver that takes them, too.
    assert smoke.run(smoke.Smoke(target)) == 2
    failed, drain = [line for line in said if line.startswith("FAILED")]
    assert failed.startswith("FAILED   all events are delivered to the receiver: ") and "500" in failed
    assert drain.startswith("FAILED   a drain of many invocations is not ended: ")


def test_a_function_whose_chains_lambda_ends_fails_the_verdict(stack_file):
    target = smoke.Target.local(stack_file)
    target.stack, target.is_local = "messaging", False
    settings = {"messaging-inbox": "Terminate"}

    class Lambda:
        def get_function_recursion_config(self, FunctionName):
            return {"RecursiveLoop": settings.get(FunctionName, "Allow")}

    target.lambda_ = Lambda()
    with pytest.raises(smoke.Failed, match="messaging-inbox': 'Terminate'"):
        smoke.may_send_to_themselves(smoke.Smoke(target))
    settings.clear()
    smoke.may_send_to_themselves(smoke.Smoke(target))


def test_the_functions_that_send_to_themselves_are_those_of_the_template():
    text = (HERE.parents[1] / "template.yaml").read_text()
    allowed = re.findall(r"Role: !GetAtt (\w+)Role.Arn\n.*\n      RecursiveLoop: Allow", text)
    assert {re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower() for name in allowed} == set(smoke.SEND_TO_THEMSELVES)


def test_a_role_that_refuses_a_call_on_several_tables_fails_the_verdict(stack_file, monkeypatch):
    run = smoke.Smoke(smoke.Target.local(stack_file))
    smoke.is_deployed(run)
    smoke.has_a_key(run)
    smoke.reads_several_tables_in_one_call(run)
    monkeypatch.setattr(run, "api", lambda method, resource, **_: (500 if "users" in resource else 200, {}))
    with pytest.raises(smoke.Failed, match="dynamodb:LeadingKeys"):
        smoke.reads_several_tables_in_one_call(run)
    smoke.clean_up(run)


def test_a_stack_that_does_not_exist_is_the_first_thing_that_fails(stack_file):
    target = smoke.Target.local(stack_file)
    target.urls, target.stack, target.console_command = {}, "absent", ["false"]
    run = smoke.Smoke(target)
    assert smoke.run(run) == len(smoke.CHECKS)
    assert run.workspace is None


@pytest.mark.parametrize("arguments", [[], ["--stack", "messaging"], ["--stack", "messaging", "--local", "stack.json"]])
def test_a_command_line_that_names_no_stack_or_no_receiver_is_refused(arguments):
    ended = subprocess.run([sys.executable, HERE / "smoke.py", *arguments], capture_output=True, text=True)
    assert ended.returncode == 2 and "usage:" in ended.stderr
