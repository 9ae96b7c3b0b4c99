"""Checks licences, bans and sources of the dependency graph against deny.toml, without cargo-deny, which builds for minutes."""

import functools
import json
import pathlib
import re
import subprocess
import tomllib

import pytest

ROOT = pathlib.Path(__file__).parents[2]
# The package of the fuzz targets has a lock file of its own, and only `make fuzz` builds it.
ENGINE = ROOT / "tests" / "fuzz" / "engine"


LOCKS = [ROOT / folder / "requirements.lock" for folder in ("tests", "tools/local")]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.parent.name)
def test_every_python_package_has_a_version_and_hashes(lock):
    packages = re.findall(r"^([A-Za-z][^ ;=]*)(==[\w.]+)?[^\n]*\n((?:    --hash=sha256:[0-9a-f]{64}[^\n]*\n?)*)", lock.read_text(), re.M)
    assert len(packages) > 40
    assert [name for name, version, hashes in packages if not version or not hashes] == []
    wanted = re.findall(r"^([a-z][\w-]*)(?:\[\w+\])?(==[\w.]+)$", lock.with_suffix(".txt").read_text(), re.M)
    assert wanted and set(wanted) <= {(re.sub(r"\[.*", "", name), version) for name, version, _ in packages}


def test_pip_installs_only_packages_with_hashes():
    installs = re.findall(r"pip install .*", (ROOT / "Makefile").read_text())
    # `make numbering` asks for the newest plans, which nobody has pinned yet.
    pinned = [install for install in installs if not install.endswith("--upgrade phonenumbers")]
    assert len(pinned) == 2 and all("--require-hashes" in install for install in pinned)
    # A hash in the list makes pip demand one of every package.
    assert '"tools/local/requirements.lock"' in (ROOT / "tools" / "local" / "src" / "venv.rs").read_text()


def test_actions_are_pinned_by_commit():
    workflows = "".join(path.read_text() for path in (ROOT / ".github" / "workflows").iterdir())
    used = re.findall(r"uses: (\S+)", workflows)
    assert used and all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action) for action in used)


@functools.cache
def policy():
    return tomllib.loads((ROOT / "deny.toml").read_text())


@functools.cache
def packages():
    """All packages of the graph except those of the workspace, for all platforms."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    metadata = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    used = {node["id"] for node in metadata["resolve"]["nodes"]} - set(metadata["workspace_members"])
    return [package for package in metadata["packages"] if package["id"] in used]


def allowed(expression, licences):
    """Whether `licences` satisfy an SPDX expression. Old manifests write `MIT/Apache-2.0` for OR."""
    tokens = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))
    joined = []
    for token in tokens:
        if joined and (token == "WITH" or joined[-1].endswith(" WITH")):
            joined[-1] += f" {token}"
        else:
            joined.append(token)
    words = {"AND": "and", "OR": "or", "(": "(", ")": ")"}
    return eval(" ".join(words.get(token) or str(token in licences) for token in joined))  # the expression contains only the words above


def banned(package, bans):
    for ban in bans:
        name, _, requirement = ban["crate"].partition(":")
        if package["name"] == name and (not requirement or older(package["version"], requirement)):
            return True
    return False


def older(version, requirement):
    assert requirement.startswith("<"), f"this test supports only `<version`, not {requirement}"
    return numbers(version) < numbers(requirement[1:])


def numbers(version):
    return [int(part) for part in re.match(r"[0-9.]+", version).group().strip(".").split(".")]


def test_every_licence_is_an_allowed_one():
    licences = set(policy()["licenses"]["allow"])
    assert [
        f"{package['name']} {package['version']}: {package['license']}"
        for package in packages()
        if not allowed(package["license"] or "none", licences)
    ] == []


def test_nothing_banned_came_in():
    bans = policy()["bans"]["deny"]
    assert [f"{package['name']} {package['version']}" for package in packages() if banned(package, bans)] == []


def test_everything_comes_from_crates_io():
    registries = [f"registry+{registry}" for registry in policy()["sources"]["allow-registry"]]
    assert [package["id"] for package in packages() if package["source"] not in registries] == []


def test_the_lock_file_of_the_fuzz_targets_is_current():
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--manifest-path", ENGINE / "Cargo.toml"]
    ran = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert ran.returncode == 0, f"run `cargo metadata --manifest-path {ENGINE.relative_to(ROOT)}/Cargo.toml`: {ran.stderr}"


def test_the_fuzz_targets_have_the_versions_of_the_service():
    versions = locked(ROOT)
    others = {name: found for name, found in locked(ENGINE).items() if not found <= versions.get(name, found)}
    assert others == {}


def locked(folder):
    """The versions of each package in a lock file."""
    found = {}
    for package in tomllib.loads((folder / "Cargo.lock").read_text())["package"]:
        found.setdefault(package["name"], set()).add(package["version"])
    return found


@pytest.mark.parametrize(
    "expression, verdict",
    [
        ("MIT", True),
        ("GPL-3.0", False),
        ("MIT/Apache-2.0", True),
        ("GPL-3.0 OR MIT", True),
        ("GPL-3.0 AND MIT", False),
        ("(GPL-3.0 OR MIT) AND Apache-2.0 WITH LLVM-exception", True),
        ("Apache-2.0 WITH GCC-exception", False),
        ("none", False),
    ],
)
def test_licence_expressions_are_understood(expression, verdict):
    assert allowed(expression, {"MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"}) is verdict


@pytest.mark.parametrize(
    "name, version, verdict",
    [("hyper", "0.14.32", True), ("hyper", "1.7.0", False), ("openssl", "0.10.1", True), ("hyperx", "0.1.0", False)],
)
def test_bans_are_understood(name, version, verdict):
    assert banned({"name": name, "version": version}, [{"crate": "hyper:<1"}, {"crate": "openssl"}]) is verdict
