"""Tests of `sam build` for both processors, and of `sam local` with its output and the files of events/.

The tests use one function, because the functions do not differ in anything that SAM sees. They build it without
optimisation, which tests the same steps from clone to package in a tenth of the time. `make build` builds all functions as
they are shipped.
"""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time
import tomllib
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
    # Only the options for the processor and the linker: the others take time.
    flags = [option for option in options(architecture) if option.startswith(("-Ctarget-cpu=", "-Clink-arg="))]
    assert len(flags) == 2
    environment = ENVIRONMENT | UNOPTIMISED | {"RUSTFLAGS": " ".join(flags)}
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=BUILD_SECONDS)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return folder


def options(architecture, profiles=ROOT / "profiles", target=ROOT / "target" / "sam"):
    """What `make build` adds to the compiler's options."""
    command = ["sh", profiles / "options.sh", architecture]
    environment = ENVIRONMENT | {"CARGO_TARGET_DIR": str(target)}
    return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout.split()


def test_cargo_lambda_finds_every_setting_that_it_would_choose_itself():
    """cargo-lambda completes the release profile, and `panic = "abort"` would let one poison message end its whole batch."""
    profile = tomllib.loads((ROOT / "Cargo.toml").read_text())["profile"]["release"]
    assert {"codegen-units", "lto", "panic", "strip"} <= profile.keys()
    assert profile["panic"] == "unwind"


@pytest.mark.parametrize("linker", [None, "zig"])
def test_code_of_the_list_comes_before_all_other_code(linker, tmp_path):
    """With the linker of the compiler (`make bench`) and with the one that cargo-lambda uses (`make build`)."""
    profiles = tmp_path / "profiles"
    shutil.copytree(ROOT / "profiles", profiles)
    # Generic code is listed for one type: `h` is u8 and `t` is u16.
    (profiles / "executed.txt").write_text("listed_*\nrarely_listed\n_RINvCs*_7program7of_typehE*\n")
    program = tmp_path / "program.rs"
    attributes = "#[unsafe(no_mangle)] #[inline(never)]"
    program.write_text(f"""
        {attributes} pub extern "C" fn another(number: u32) -> u32 {{ number * 3 }}
        {attributes} #[cold] pub extern "C" fn rarely_listed(number: u32) -> u32 {{ number * 5 }}
        {attributes} pub extern "C" fn listed_by_its_start(number: u32) -> u32 {{ number * 7 }}
        #[inline(never)] fn of_type<Type: Into<u32>>(number: Type) -> u32 {{ number.into() * 11 }}
        fn main() {{
            let count = std::env::args().count() as u32;
            let extern_c = another(count) + rarely_listed(count) + listed_by_its_start(count);
            std::process::exit((extern_c + of_type(count as u16) + of_type(count as u8)) as i32)
        }}
    """)
    flags = [flag for flag in options(engine.ARCHITECTURE, profiles, tmp_path) if flag.startswith(("-Csymbol-", "-Clink-arg="))]
    command = ["rustc", "-O", program, "-o", tmp_path / "program", *flags]
    if linker:
        (tmp_path / "zig").write_text(f'#!/bin/sh\nexec {sys.executable} -m ziglang cc "$@"\n')
        (tmp_path / "zig").chmod(0o755)
        command.append(f"-Clinker={tmp_path}/zig")
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert subprocess.run([tmp_path / "program"]).returncode == 37
    symbols = subprocess.check_output(["nm", "--numeric-sort", tmp_path / "program"], text=True)
    names = "another|rarely_listed|listed_by_its_start|of_typehE|of_typetE|main"
    found = re.findall(rf" [tT] (?:_RINvCs\w+_7program7)?({names})(?:B\w*_)?$", symbols, re.MULTILINE)
    assert found[:3] == ["listed_by_its_start", "rarely_listed", "of_typehE"]
    assert set(found[3:]) == {"another", "of_typetE", "main"}


@pytest.mark.parametrize("architecture", MACHINES)
def test_the_pinned_compiler_reads_the_profile_of(architecture, tmp_path):
    options = ["--crate-type=lib", f"-Cprofile-use={ROOT}/profiles/{architecture}.profdata", "--out-dir", tmp_path]
    program = tmp_path / "nothing.rs"
    program.touch()
    ran = subprocess.run(["rustc", *options, program], cwd=ROOT, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("architecture", MACHINES)
def test_a_build_with_the_profile_is_for_the_processor_that_cargo_lambda_chooses(architecture, tmp_path):
    """cargo ignores what cargo-lambda chooses as soon as RUSTFLAGS is set, without a word."""
    given = compiler_options(architecture, tmp_path / "given", {"RUSTFLAGS": " ".join(options(architecture, target=tmp_path))})
    chosen = compiler_options(architecture, tmp_path / "chosen", {})
    processor = re.compile(r"target-cpu=(\S+)")
    assert set(processor.findall(given)) == set(processor.findall(chosen)) != set()
    assert f"{architecture}-" in re.search(r"-Cprofile-use=(\S+)", given).group(1)


def test_a_build_with_the_same_profile_and_list_compiles_nothing_again(tmp_path):
    """The compiler tells cargo which profile it read, and cargo compiles again if that file is newer than what it built."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.rs").write_text("fn main() {}")
    (tmp_path / "Cargo.toml").write_text('[package]\nname = "tiny"\nedition = "2024"\n[workspace]\n')

    def compiled():
        flags = options(engine.ARCHITECTURE, target=tmp_path / "target")
        environment = ENVIRONMENT | {"CARGO_TARGET_DIR": str(tmp_path / "target"), "RUSTFLAGS": " ".join(flags)}
        ran = subprocess.run(["cargo", "build"], cwd=tmp_path, env=environment, check=True, capture_output=True, text=True)
        return "Compiling tiny" in ran.stderr

    assert [compiled(), compiled()] == [True, False]


def compiler_options(architecture, folder, variables):
    """What cargo-lambda lets the compiler do, which stops at the first crate."""
    folder.mkdir()
    stops = folder / "stops"
    stops.write_text(f'#!/bin/sh\necho "$@" >> {folder}/calls\ncase "$*" in *" --emit="*) exit 1 ;; esac\nexec "$@"\n')
    stops.chmod(0o755)
    command = [SAM.with_name("cargo-lambda"), "lambda", "build", "--release", "--package", "users"]
    command += ["--arm64"] if architecture == "arm64" else ["--x86-64"]
    environment = ENVIRONMENT | {"CARGO_TARGET_DIR": str(folder), "RUSTC_WRAPPER": str(stops)} | variables
    subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=BUILD_SECONDS)
    return (folder / "calls").read_text()


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
