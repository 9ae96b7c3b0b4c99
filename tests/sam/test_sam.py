"""Tests of `sam build` for both processors, and of `sam local` with its output and the files of events/.

The tests use one function, because the functions do not differ in anything that SAM sees. They build it without
optimisation, which tests the same steps from clone to package in a tenth of the time. `make build` builds all functions as
they are shipped.
"""

import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

import engine

ROOT = pathlib.Path(__file__).parents[2]
FUNCTION = "UsersFunction"
EVENT = ROOT / "events" / "users-get.json"
BUILT = ROOT / ".local" / "sam"
# The first build compiles every dependency for both processors.
BUILD_SECONDS = 1200
MACHINES = {"x86_64": 0x3E, "arm64": 0xB7}

SAM = pathlib.Path(sys.executable).with_name("sam")
# No credentials: with credentials, SAM asks AWS for their owner.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")} | {
    # SAM finds cargo-lambda, and that finds zig, in the environment of the first python3.
    "PATH": f"{SAM.parent}:{os.environ['PATH']}",
    "SAM_CLI_TELEMETRY": "0",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_DEFAULT_REGION": "eu-west-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
}
UNOPTIMISED = {
    "CARGO_TARGET_DIR": str(ROOT / "target" / "sam"),
    "CARGO_PROFILE_RELEASE_LTO": "off",
    "CARGO_PROFILE_RELEASE_OPT_LEVEL": "0",
    "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16",
}


def build(architecture):
    folder = BUILT / architecture
    command = [SAM, "build", FUNCTION, "--build-dir", folder, "--parameter-overrides", f"Architecture={architecture}"]
    ran = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT | UNOPTIMISED, capture_output=True, text=True, timeout=BUILD_SECONDS)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return folder


@pytest.mark.parametrize("architecture", MACHINES)
def test_sam_builds_a_function_for(architecture):
    folder = build(architecture)
    binary = (folder / FUNCTION / "bootstrap").read_bytes()
    assert binary[:4] == b"\x7fELF"
    assert int.from_bytes(binary[18:20], "little") == MACHINES[architecture]
    # Amazon Linux 2023 has glibc 2.34.
    wanted = {tuple(map(int, version.split(b"."))) for version in re.findall(rb"GLIBC_(2\.\d+)", binary)}
    assert max(wanted) <= (2, 34)


@pytest.fixture(scope="module")
def containers():
    with engine.running() as (environment, options):
        yield environment, options


@pytest.fixture(scope="module")
def local(containers):
    """Runs a `sam local` command on the build for this machine."""
    environment, options = containers
    template = build(engine.ARCHITECTURE) / "template.yaml"

    def start(*command):
        return subprocess.Popen(
            [SAM, "local", *command, "--template", template, *options,
             "--parameter-overrides", f"Architecture={engine.ARCHITECTURE}"],
            cwd=ROOT, env=ENVIRONMENT | environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )

    return start


def test_sam_local_invoke_answers_an_event_of_the_events_folder(local):
    process = local("invoke", FUNCTION, "--event", EVENT)
    printed, log = process.communicate(timeout=120)
    assert process.returncode == 0, log
    answer = json.loads(printed.strip().splitlines()[-1])
    # The key in the file is a placeholder, so the function refuses it before it reads any table.
    assert_forbidden(answer["statusCode"], answer["body"])
    request = json.loads(EVENT.read_text())["requestContext"]["requestId"]
    headers = {name.lower(): values for name, values in answer["multiValueHeaders"].items()}
    assert headers["x-request-id"] == [request]


def test_sam_local_start_api_serves_the_templates_routes(local):
    port = free_port()
    process = local("start-api", "--port", str(port))
    try:
        path = json.loads(EVENT.read_text())["path"]
        status, body = get(f"http://127.0.0.1:{port}{path}", process)
        assert_forbidden(status, body)
    finally:
        process.terminate()
        process.communicate(timeout=60)


def assert_forbidden(status, body):
    assert status == 403
    assert json.loads(body) == {"title": "Forbidden", "status": 403, "code": "SERVICE_CORE_0301"}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def get(url, process):
    """The status and the body of a response, as soon as the server listens."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        assert process.poll() is None, process.stderr.read()
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read()
        except urllib.error.URLError:
            time.sleep(0.1)
    raise AssertionError("sam local start-api did not listen within two minutes")
