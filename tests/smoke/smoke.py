"""Runs a deployed stack through its main job and prints a verdict: one line for each check, and the exit status.

    smoke.py --stack NAME --url URL     a stack on AWS; URL is a webhook receiver that answers 2xx
    smoke.py --local FILE               the local stack that wrote FILE (stack.json), with its own receiver

On AWS it needs the region and credentials of an operator, and the console: `console` on the PATH, or the last build. It
works in a workspace of its own, called smoke-<time>. It sends nothing to a person: its message is an internal note, and
its lead's number has opted out. At the end it takes back what can be taken back. The workspace remains, disabled, without a valid
key, with lead capture disabled and without an endpoint.

The captcha: the variables CAPTCHA_SECRET, CAPTCHA_TOKEN and CAPTCHA_ORIGIN give the secret key of a site, a new token of
that site for the action campaign_lead, and the origin of the page that made the token. Without them, it uses the test
secret that Google publishes. Google then answers without a score, and the service must answer 422. That shows everything
but the acceptance of a lead.
"""

import argparse
import base64
import hashlib
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

import boto3
import botocore.config
import botocore.exceptions

ROOT = pathlib.Path(__file__).parents[2]
# https://developers.google.com/recaptcha/docs/faq: with this secret every token of version 2 is accepted.
GOOGLES_TEST_SECRET = "6LeIxAcTAAAAAGG-vFI1TnRWxMZNFuojJ4WifJWe"
CAPTCHA_UNAVAILABLE = "SERVICE.CAMPAIGN_LEADS.CAPTCHA_UNAVAILABLE"
TOO_LARGE = "SERVICE_FILE_0903"
# Limits of the specification: a sticker has at most 500 KB.
OVER_THE_LIMIT = b"\0" * (500 * 1024 + 1)
PATIENCE_SECONDS = 120
# The functions that send to the queues that invoke them.
SEND_TO_THEMSELVES = ("webhook-delivery", "message-sender", "lead-sender", "people", "inbox")
# With one post a second, an invocation of webhook-delivery makes seven, and Lambda ends a chain of 16 invocations.
DRAINED_EVENTS, DRAINED_LOCALLY = 150, 10
ORIGIN = "https://www.example.com"
PHONE = "+34600{:06}"


class Failed(Exception):
    """A check failed. The text says how."""


class Skipped(Exception):
    """A check makes no sense for this stack. The text says why."""


def main():
    options = read_options()
    target = Target.local(options.local) if options.local else Target.on_aws(options)
    print(f"Smoke test of the stack {target.stack}", flush=True)
    smoke = Smoke(target)
    failed = run(smoke)
    if failed:
        print(f"\nFAILED: {failed} of {len(CHECKS) + 1} checks of the stack {target.stack}")
        return 1
    print(f"\nOK: the stack {target.stack} passed all {len(CHECKS) + 1} checks")
    return 0


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stack")
    parser.add_argument("--url", help="the webhook receiver")
    parser.add_argument("--local", metavar="FILE", type=pathlib.Path)
    options = parser.parse_args()
    if bool(options.local) == bool(options.stack):
        parser.error("give either --stack or --local")
    if options.stack and not options.url:
        parser.error("--stack needs --url")
    return options


# --- The stack -----------------------------------------------------------------------------------------------------


class Target:
    """A stack, and how its parts are reached."""

    def __init__(self, stack, console, receiver, captcha, clients, urls=None):
        self.stack = stack
        self.console_command = console
        self.receiver = receiver
        self.captcha_secret, self.captcha_token, self.origin, self.is_accepted = captcha
        self.cloudformation, self.cloudwatch, self.s3, self.sqs, self.lambda_ = clients
        self.urls = urls or {}
        self.is_local = bool(self.urls)
        self.outputs = {}

    @classmethod
    def on_aws(cls, options):
        console = shutil.which("console") or ROOT / "target" / "debug" / "console"
        if not pathlib.Path(console).exists():
            sys.exit("There is no console. Install it with: cargo install --locked --path tools/console")
        given = [os.environ.get(f"CAPTCHA_{name}") for name in ("SECRET", "TOKEN", "ORIGIN")]
        if any(given) and not all(given):
            sys.exit("CAPTCHA_SECRET, CAPTCHA_TOKEN and CAPTCHA_ORIGIN belong together.")
        captcha = (*given, True) if all(given) else (GOOGLES_TEST_SECRET, "a-test-token", ORIGIN, False)
        return cls(
            options.stack, [str(console), "--stack", options.stack], options.url, captcha, clients(),
        )

    @classmethod
    def local(cls, file):
        stack = json.loads(file.read_text())
        console = shlex.split(stack["console"])
        access = {
            "endpoint_url": stack["emulatorUrl"], "region_name": stack["region"],
            "aws_access_key_id": "test", "aws_secret_access_key": "test",
        }
        return cls(
            "local", console, f"{stack['receiverUrl']}/ok/smoke",
            ("secret-for-www.example.com", f"pass-{time.time_ns()}", ORIGIN, True), clients(**access),
            {
                "ApiUrl": stack["baseUrl"], "CaptureUrl": stack["captureUrl"],
                "ProviderEventsUrl": stack["providerEventsUrl"],
            },
        )

    def console(self, *arguments, typed=""):
        """What a command of the console prints as JSON. `typed` is its standard input."""
        command = [*self.console_command, "--json", *arguments]
        ran = subprocess.run(command, input=typed, capture_output=True, text=True)
        if ran.returncode != 0:
            raise Failed(f"console {' '.join(arguments[:2])}: {ran.stderr.strip() or ran.returncode}")
        return json.loads(ran.stdout)


def clients(**access):
    config = botocore.config.Config(retries={"max_attempts": 3}, connect_timeout=5, read_timeout=20)
    return [boto3.client(name, config=config, **access) for name in ("cloudformation", "cloudwatch", "s3", "sqs", "lambda")]


# --- The checks ----------------------------------------------------------------------------------------------------


CHECKS = []


def check(title, *needs):
    """A check, and the checks that must have passed before it."""

    def added(function):
        CHECKS.append((title, function, needs))
        return function

    return added


class Smoke:
    """What the checks have made so far."""

    def __init__(self, target):
        self.target = target
        self.started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.number = time.time_ns() // 1_000_000
        self.phone = PHONE.format(self.number % 1_000_000)
        self.workspace = self.key = self.key_id = self.endpoint = self.contact = self.conversation = self.drained = None
        self.brand = f"smoke-{self.number}"
        self.channel = str(self.number)
        self.account = f"smoke{self.number}"
        self.has_capture = False

    def of_workspace(self, *arguments, typed=""):
        return self.target.console(*arguments[:2], "--workspace", self.workspace, *arguments[2:], typed=typed)

    def api(self, method, resource, body=None, key=None):
        """Status and JSON of an answer of the Integrations API."""
        url = f"{self.target.outputs['ApiUrl']}/service/api/v1/workspaces/{self.workspace}{resource}"
        return request(method, url, body, {"x-api-key": key or self.key})

    def expect(self, status, method, resource, body=None):
        found, answer = self.api(method, resource, body)
        if found != status:
            raise Failed(f"{method} {resource.split('?')[0]} is answered with {found}: {json.dumps(answer)[:300]}")
        return answer

    def uploaded(self, name, file_type, content_type, content):
        """The id of a file that was uploaded without its size."""
        digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
        file = {"name": name, "fileType": file_type, "contentType": content_type, "checksumBase64": digest}
        [upload] = self.expect(201, "POST", "/files", [file])
        presigned = upload["presignUrl"]
        status, _ = send(presigned["method"], presigned["url"], content, presigned["headers"])
        if status != 200:
            raise Failed(f"the bucket answers the upload with {status}")
        return upload["mediaId"]


@check("the stack is deployed")
def is_deployed(smoke):
    target = smoke.target
    if target.urls:
        names = [stack["StackName"] for stack in target.cloudformation.describe_stacks()["Stacks"]]
        target.stack = names[0]
    [stack] = target.cloudformation.describe_stacks(StackName=target.stack)["Stacks"]
    if not stack["StackStatus"].endswith("_COMPLETE") or "ROLLBACK" in stack["StackStatus"]:
        raise Failed(f"its status is {stack['StackStatus']}")
    target.outputs = {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]} | target.urls


@check("the console makes a workspace and a key", is_deployed)
def has_a_key(smoke):
    made = smoke.target.console("workspace", "create", "--name", f"smoke-{smoke.started}")
    smoke.workspace = made["workspaceId"]
    key = smoke.of_workspace("key", "create", "--name", "smoke", "--scope", "*")
    smoke.key, smoke.key_id = key["apiKey"], key["keyId"]


@check("the Integrations API accepts the key and refuses another", has_a_key)
def takes_the_key(smoke):
    smoke.expect(200, "GET", "/contacts")
    status, answer = smoke.api("GET", "/contacts", key=f"{smoke.key[:-1]}{'a' if smoke.key[-1] != 'a' else 'b'}")
    if (status, answer.get("code")) != (403, "SERVICE_CORE_0301"):
        raise Failed(f"another key is answered with {status} {answer}")


@check("the API reference names the hosts of this deployment", is_deployed)
def shows_the_reference(smoke):
    url = smoke.target.outputs["ApiUrl"]
    status, page = send("GET", f"{url}/portal/reference.html", None, {})
    page = page.decode()
    # The hosts of the local stack are not those of AWS.
    hosts = [] if smoke.target.is_local else [url, smoke.target.outputs["CaptureUrl"]]
    if status != 200 or any(host not in page for host in hosts):
        raise Failed(f"{url}/portal/reference.html is answered with {status}; does it name the hosts {hosts}?")


@check("the roles allow calls on several tables", has_a_key)
def reads_several_tables_in_one_call(smoke):
    """A new key is in no process's memory, so each function reads key and workspace by one call. Its role names the keys of
    the workspaces table. If AWS compares them with the keys of the other table too, the role must name those as well."""
    key = smoke.of_workspace("key", "create", "--name", "smoke-tables", "--scope", "*")
    try:
        unknown = uuid.uuid4()
        for resource, wanted in (
            ("/contacts", 200), ("/conversations", 200), ("/settings/attributes", 200), (f"/users/{unknown}", 404),
            (f"/files/{unknown}", 404), (f"/messages/{unknown}?conversationId={unknown}", 404),
        ):
            status, answer = smoke.api("GET", resource, key=key["apiKey"])
            if status != wanted:
                raise Failed(f"GET {resource} is answered with {status} {answer}; does the role's dynamodb:LeadingKeys allow the call?")
    finally:
        smoke.of_workspace("key", "revoke", "--key", key["keyId"])


@check("functions may send to their own queues", is_deployed)
def may_send_to_themselves(smoke):
    names = [f"{smoke.target.stack}-{name}" for name in SEND_TO_THEMSELVES]
    if smoke.target.is_local:
        for name in names:
            smoke.target.lambda_.get_function(FunctionName=name)
        raise Skipped("the functions exist; the emulator does not count the chains of queues")
    settings = {name: smoke.target.lambda_.get_function_recursion_config(FunctionName=name)["RecursiveLoop"] for name in names}
    if set(settings.values()) != {"Allow"}:
        raise Failed(f"Lambda ends their chains: {settings}")


@check("the provider's webhook refuses a request without a signature", is_deployed)
def refuses_unsigned_webhooks(smoke):
    url = f"{smoke.target.outputs['ProviderEventsUrl']}/api/v1/whatsapp/1"
    status, text = send("POST", url, b'{"object":"whatsapp_business_account","entry":[]}', {"content-type": "application/json"})
    if (status, text) != (403, b"Forbidden"):
        raise Failed(f"it is answered with {status} {text[:300]}")


@check("the console makes a webhook endpoint", has_a_key)
def has_an_endpoint(smoke):
    made = smoke.of_workspace("webhook", "create", "--url", smoke.target.receiver, "--api-key", "smoke")
    smoke.endpoint = made["endpointId"]


@check("a contact is imported, found and changed", takes_the_key)
def has_a_contact(smoke):
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        file.write(f"firstName,cellphone\nSmoke,{smoke.phone}\n")
        file.flush()
        counts = smoke.of_workspace("contacts", "import", file.name)
    if counts["created"] != 1:
        raise Failed(f"the import says {counts}")
    query = urllib.parse.urlencode({"search": smoke.phone})
    page = within(20, lambda: smoke.expect(200, "GET", f"/contacts?{query}")["contacts"], "the contact is not found")
    smoke.contact = page[0]["id"]
    changed = smoke.expect(200, "PATCH", f"/contacts/{smoke.contact}", {"lastName": "Test"})
    if changed["lastName"] != "Test":
        raise Failed("the change is not in the answer")


@check("a conversation is opened", has_a_contact)
def has_a_conversation(smoke):
    smoke.of_workspace("brand", "create", "--name", "Smoke", "--id", smoke.brand)
    line = ["--channel", smoke.channel, "--brand", smoke.brand, "--business-account", smoke.account]
    smoke.of_workspace("line", "create", *line, "--token", "no-token")
    external = {"identifier": smoke.contact, "identifierType": "ID"}
    made = smoke.expect(201, "POST", "/conversations", {"participants": {"externals": [external]}})
    smoke.conversation = made["id"]


@check("a file is uploaded, and a note refers to it", has_a_conversation)
def has_a_message(smoke):
    media = smoke.uploaded("smoke.txt", "DOCUMENT", "text/plain", f"smoke {smoke.number}".encode())
    smoke.expect(201, "POST", "/messages", note(smoke, media))


@check("a file over its limit is deleted when it arrives, and refused", has_a_conversation)
def deletes_what_is_too_large(smoke):
    media = smoke.uploaded("smoke.webp", "STICKER", "image/webp", OVER_THE_LIMIT)
    place = {"Bucket": smoke.target.outputs["MediaBucketName"], "Key": f"{smoke.workspace}/{media}"}

    def is_gone():
        try:
            smoke.target.s3.head_object(**place)
            return False
        except botocore.exceptions.ClientError as error:
            if error.response["ResponseMetadata"]["HTTPStatusCode"] != 404:
                raise
            return True

    within(PATIENCE_SECONDS, is_gone, "the file is still in the bucket")
    status, answer = smoke.api("POST", "/messages", note(smoke, media))
    if (status, answer.get("code")) != (422, TOO_LARGE):
        raise Failed(f"the message is answered with {status} {answer}")


@check("a lead is taken, and its suppressed state is recorded", has_a_conversation)
def takes_a_lead(smoke):
    target = smoke.target
    template = ["--name", "smoke", "--language", "en", "--approved", smoke.account]
    made = target.console("template", "create", "--workspace", smoke.workspace, *template)
    capture = ["--origin", target.origin, "--brand", smoke.brand, "--template", made["templateId"]]
    capture = smoke.of_workspace("capture", "enable", *capture, "--secret-file", "-", typed=target.captcha_secret)
    smoke.has_capture = True
    smoke.of_workspace("opt-out", "add", "--cellphone", smoke.phone)
    lead = {
        "workspaceId": smoke.workspace, "captureKey": capture["captureKey"], "cellphone": smoke.phone,
        "landingUri": f"{target.origin}/", "consent": {"status": "GRANTED", "capturedAt": None},
        "recaptchaToken": target.captcha_token,
    }
    status, answer = request("POST", f"{target.outputs['CaptureUrl']}/api/v1/leadscout/campaign-leads", lead, {})
    if not target.is_accepted:
        if (status, answer.get("type")) != (422, CAPTCHA_UNAVAILABLE):
            raise Failed(f"with Google's test secret, the lead is answered with {status} {answer}")
        raise Skipped("answered 422 after the captcha, as Google's test secret demands; no lead was stored")
    if status != 202:
        raise Failed(f"the lead is answered with {status} {answer}")
    lead_id = answer["requestId"]

    def state():
        return smoke.of_workspace("lead", "show", "--lead", lead_id)["state"] == "SUPPRESSED"

    within(PATIENCE_SECONDS, state, "the lead does not become SUPPRESSED")


@check("all events are delivered to the receiver", has_an_endpoint, has_a_contact)
def delivers_events(smoke):
    smoke.of_workspace("webhook", "test", "--endpoint", smoke.endpoint)
    wanted = {"contact.created", "contact.updated", "webhook.test"}
    if smoke.conversation:
        wanted.add("conversation.created")

    def delivered():
        found = smoke.of_workspace("delivery", "list")
        types = {one["eventType"] for one in found if one["state"] == "DELIVERED"}
        waiting = [one for one in found if one["state"] != "DELIVERED"]
        return not waiting and wanted <= types

    try:
        within(PATIENCE_SECONDS, delivered, "")
    except Failed:
        found = smoke.of_workspace("delivery", "list")
        states = sorted({(one["eventType"], one["state"], one["lastStatus"]) for one in found})
        raise Failed(f"the deliveries are {states}") from None


@check("a drain of many invocations is not ended", has_an_endpoint, has_a_contact)
def drains_in_a_long_chain(smoke):
    events = DRAINED_LOCALLY if smoke.target.is_local else DRAINED_EVENTS
    made = smoke.of_workspace("webhook", "create", "--url", smoke.target.receiver, "--api-key", "smoke", "--event", "contact.updated", "--max-per-second", "1")
    smoke.drained = made["endpointId"]
    for number in range(events):
        smoke.expect(200, "PATCH", f"/contacts/{smoke.contact}", {"lastName": f"Test {number}"})

    def is_drained():
        waiting = smoke.of_workspace("delivery", "list", "--endpoint", smoke.drained, "--state", "PENDING")
        return not waiting

    # A chain that Lambda ends stands still until the sweeper finds the lane, two minutes later.
    within(events + 60, is_drained, "deliveries are still waiting")


@check("the dead-letter queues are empty", is_deployed)
def has_no_dead_letters(smoke):
    queues = {name: url for name, url in smoke.target.outputs.items() if name.endswith("DlqUrl")}
    if not queues:
        raise Failed("the stack has no output of a dead-letter queue")
    for name, url in sorted(queues.items()):
        wanted = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = smoke.target.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=wanted)["Attributes"]
        count = sum(int(found[attribute]) for attribute in wanted)
        if count:
            raise Failed(f"{name} holds {count} messages")


@check("no alarm rings", is_deployed)
def has_no_alarms(smoke):
    pages = smoke.target.cloudwatch.get_paginator("describe_alarms").paginate(AlarmNamePrefix=f"{smoke.target.stack}-")
    alarms = [alarm for page in pages for alarm in page["MetricAlarms"]]
    ringing = sorted(alarm["AlarmName"] for alarm in alarms if alarm["StateValue"] == "ALARM")
    if ringing:
        raise Failed(", ".join(ringing))
    if not alarms:
        raise Skipped("the stack has no alarms")


def clean_up(smoke):
    """Takes back what the checks made, as far as that is possible."""
    problems = []
    for made, arguments in (
        (smoke.endpoint, ("webhook", "delete", "--endpoint", smoke.endpoint)),
        (smoke.drained, ("webhook", "delete", "--endpoint", smoke.drained)),
        (smoke.has_capture, ("capture", "disable")),
        (smoke.has_capture, ("opt-out", "remove", "--cellphone", smoke.phone)),
        (smoke.key_id, ("key", "revoke", "--key", smoke.key_id)),
        (smoke.workspace, ("workspace", "disable")),
    ):
        if made:
            try:
                smoke.of_workspace(*arguments)
            except Failed as failed:
                problems.append(str(failed))
    if problems:
        raise Failed("; ".join(problems))


# --- Running them --------------------------------------------------------------------------------------------------


def run(smoke):
    """Runs all checks and prints a line for each. Returns the number of those that failed."""
    passed, failed = set(), 0
    try:
        for title, function, needs in CHECKS:
            missing = [need for need in needs if need not in passed]
            if missing:
                print(f"FAILED   {title}: not tried, because an earlier check failed", flush=True)
                failed += 1
                continue
            if one(title, function, smoke):
                passed.add(function)
            else:
                failed += 1
    finally:
        failed += not one("everything is taken back", clean_up, smoke)
    return failed


def one(title, function, smoke):
    begun = time.monotonic()
    try:
        function(smoke)
        said = f"ok       {title}"
    except Skipped as skipped:
        said = f"ok       {title}: {skipped}"
    except Exception as error:  # whatever breaks is the verdict of this check
        reason = str(error) if isinstance(error, Failed) else f"{type(error).__name__}: {error}"
        print(f"FAILED   {title}: {reason}", flush=True)
        return False
    print(f"{said} ({time.monotonic() - begun:.1f} s)", flush=True)
    return True


def within(seconds, found, complaint):
    """The first true result of `found`, which is asked once a second."""
    end = time.monotonic() + seconds
    while not (result := found()):
        if time.monotonic() > end:
            raise Failed(f"{complaint} after {seconds} seconds")
        time.sleep(1)
    return result


def note(smoke, media):
    return {
        "conversationId": smoke.conversation, "messageBody": "A note of the smoke test", "mediaIds": [media],
        "enableExternalBroadcast": False,
    }


def request(method, url, body, headers):
    """Status and JSON of an answer."""
    content = None if body is None else json.dumps(body).encode()
    status, text = send(method, url, content, headers | {"content-type": "application/json"})
    try:
        return status, json.loads(text or "null")
    except ValueError:
        raise Failed(f"{method} is answered with {status} and no JSON") from None


def send(method, url, content, headers):
    try:
        asked = urllib.request.Request(url, content, headers, method=method)
        with urllib.request.urlopen(asked, timeout=35) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
    except urllib.error.URLError as error:
        raise Failed(f"{urllib.parse.urlsplit(url).hostname} does not answer: {error.reason}") from None


if __name__ == "__main__":
    sys.exit(main())
