"""The files of a release deploy without Rust, and their checksums and bill of materials are right."""

import json
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile

import pytest
from samcli.yamlhelper import yaml_dump, yaml_parse

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / ".ci"))
import release  # noqa: E402

FUNCTIONS = {path.name for path in (ROOT / "functions").iterdir()}
MOMENT = "2027-01-31T12:00:00Z"


def build(folder):
    """Writes what `make build` writes, with a short program for each function."""
    for processor in release.TARGETS:
        template = yaml_parse((ROOT / "template.yaml").read_text())
        for name, resource in template["Resources"].items():
            if resource["Type"] == "AWS::Serverless::Function":
                resource["Properties"]["CodeUri"] = name
                (folder / processor / name).mkdir(parents=True)
                (folder / processor / name / "bootstrap").write_bytes(f"{name} {processor}".encode())
        (folder / processor / "template.yaml").write_text(yaml_dump(template))
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return release.release(build(tmp_path_factory.mktemp("built")), tmp_path_factory.mktemp("into"), "1.2.3", MOMENT)


def folders(made):
    return {processor: made / f"messaging-integrations-1.2.3-{processor}" for processor in release.TARGETS}


def test_each_processor_has_a_zip_of_every_function(made):
    for processor, folder in folders(made).items():
        zips = {path.stem: path for path in (folder / "functions").iterdir()}
        assert set(zips) == FUNCTIONS
        for path in zips.values():
            [entry] = zipfile.ZipFile(path).infolist()
            assert (entry.filename, entry.external_attr >> 16 & 0o777) == ("bootstrap", 0o755)
            assert zipfile.ZipFile(path).read("bootstrap").decode().endswith(f"Function {processor}")


def test_sam_deploys_the_folder_and_builds_nothing(made, tmp_path):
    sam = pathlib.Path(sys.executable).with_name("sam")
    for processor, folder in folders(made).items():
        template = yaml_parse((folder / "template.yaml").read_text())
        functions = [one for one in template["Resources"].values() if one["Type"] == "AWS::Serverless::Function"]
        assert len(functions) == len(FUNCTIONS)
        for function in functions:
            assert (folder / function["Properties"]["CodeUri"]).is_file()
            assert "Metadata" not in function
        assert template["Parameters"]["Architecture"]["AllowedValues"] == [processor]
        settings = (folder / "samconfig.toml").read_text()
        assert settings.count(f"Architecture={processor}") == settings.count("Architecture=") == 3
    ran = subprocess.run(
        [sam, "validate", "--lint", "--template", folders(made)["x86_64"] / "template.yaml", "--region", "eu-west-1"],
        env={"SAM_CLI_TELEMETRY": "0", "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}, capture_output=True, text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_archives_hold_the_folders(made):
    for folder in folders(made).values():
        with tarfile.open(f"{folder}.tar.gz") as file:
            packed = {entry.name for entry in file if entry.isfile()}
        assert packed == {str(path.relative_to(made)) for path in folder.rglob("*") if path.is_file()}


def test_the_checksums_are_right_and_leave_nothing_out(made):
    ran = subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=made, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout
    files = [path for path in made.rglob("*") if path.is_file() and path.name != "SHA256SUMS"]
    assert len(ran.stdout.splitlines()) == len(files)


def test_the_same_sources_give_the_same_bytes(made, tmp_path):
    again = release.release(build(tmp_path / "built"), tmp_path / "into", "1.2.3", MOMENT)
    assert (again / "SHA256SUMS").read_text() == (made / "SHA256SUMS").read_text()
    shutil.rmtree(tmp_path / "into")


def test_the_bill_of_materials_lists_what_is_shipped(made):
    bill = json.loads((made / "sbom.cdx.json").read_text())
    assert (bill["bomFormat"], bill["specVersion"], bill["metadata"]["timestamp"]) == ("CycloneDX", "1.6", MOMENT)
    names = {component["name"] for component in bill["components"]}
    assert FUNCTIONS | {"domain", "tokio", "rustls"} <= names
    assert not names & {"harness", "insta", "proptest", "console", "local"}, "what only tests and tools use"
    own = FUNCTIONS | {path.name for path in (ROOT / "shared").iterdir()}
    for component in bill["components"]:
        [licence] = component["licenses"]
        assert licence["expression"] != "NOASSERTION" and "/" not in licence["expression"], component
        assert component["name"] in own or len(component["hashes"][0]["content"]) == 64, component
    refs = [component["bom-ref"] for component in bill["components"]]
    assert len(set(refs)) == len(refs)
    [root] = [one for one in bill["dependencies"] if one["ref"] == bill["metadata"]["component"]["bom-ref"]]
    assert len(root["dependsOn"]) == len(FUNCTIONS)
    for dependency in bill["dependencies"]:
        assert set(dependency["dependsOn"]) <= set(refs)


def test_cargo_lambda_finds_every_setting_that_it_would_choose_itself():
    """cargo-lambda completes the release profile, and `panic = "abort"` would let one poison message end its whole batch."""
    profile = tomllib.loads((ROOT / "Cargo.toml").read_text())["profile"]["release"]
    assert {"codegen-units", "lto", "panic", "strip"} <= profile.keys()
    assert profile["panic"] == "unwind"
