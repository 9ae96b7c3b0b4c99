"""`make run`, `make test` and `make build` compile each dependency once: every command that they run gives it the same features.

Cargo compiles a dependency again if another command needs it with other features, and then everything above it. The unit
graph lists what a command would compile, without compiling it.
"""

import functools
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import tomllib

import pytest

ROOT = pathlib.Path(__file__).parents[2]
EVERYTHING = "cargo build --workspace --all-targets --locked"
# What `cargo run --bin console` compiles, which is how an operator starts the console for AWS.
CONSOLE = "cargo build --bin console --locked"


def commands():
    """The cargo commands of the Makefile and of tests/run.py that compile with the dev profile, as ones that only compile."""
    spec = importlib.util.spec_from_file_location("steps", ROOT / "tests" / "run.py")
    steps = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(steps)
    found = re.findall(r"^\t@(?:\w+=\S+ )?(cargo (?:build|test) .*)$", (ROOT / "Makefile").read_text(), re.M)
    found += [" ".join(map(str, command)) for _, command in steps.STEPS["test"]]
    # What nextest compiles; which tests it then runs does not matter.
    found = [re.sub(r"^cargo nextest run .*", "cargo test --no-run --locked --workspace", command) for command in found]
    found = [command for command in found if re.match(r"cargo (build|test) ", command)]
    return sorted({command for command in found if "--release" not in command and "--profile" not in command} | {CONSOLE})


@functools.cache
def graph(command):
    """What the command compiles: identity -> unit. Two commands share an artifact if its identity is the same in both."""
    # Unit graphs are unstable. This variable lets the stable cargo print them; it changes nothing that is compiled.
    environment = os.environ | {"RUSTC_BOOTSTRAP": "1"}
    line = [*command.split(), "--unit-graph", "-Z", "unstable-options"]
    printed = subprocess.run(line, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE).stdout
    units = json.loads(printed)["units"]

    @functools.cache
    def identity(index):
        unit = units[index]
        # Profiles that differ in nothing but their names share what they compile.
        profile = sorted((key, str(value)) for key, value in unit["profile"].items() if key != "name")
        own = [unit["pkg_id"], unit["target"], profile, unit["platform"], unit["mode"], sorted(unit["features"])]
        below = sorted((needed["extern_crate_name"], identity(needed["index"])) for needed in unit["dependencies"])
        return hash(json.dumps([own, below], sort_keys=True))

    below = [{"below": {identity(needed["index"]) for needed in unit["dependencies"]}} for unit in units]
    return {identity(index): unit | below[index] for index, unit in enumerate(units)}


def test_the_commands_are_found():
    found = commands()
    assert EVERYTHING in found and "cargo build --locked --workspace --bins" in found
    assert any(command.startswith("cargo test") for command in found)


@pytest.mark.parametrize("command", commands())
def test_what_is_compiled_is_shared_with(command):
    shared, wanted = graph(EVERYTHING), graph(command)
    # Test programs are our own, and each command makes those that it runs.
    compared = {key: unit for key, unit in wanted.items() if unit["mode"] not in ("test", "doctest")}
    apart = {key: unit for key, unit in compared.items() if key not in shared}
    # Only where it begins: cargo also compiles everything above it again.
    roots = [unit for unit in apart.values() if not apart.keys() & unit["below"]]
    assert sorted({f"{unit['pkg_id']} with the features {sorted(unit['features'])}" for unit in roots}) == [], (
        f"`{command}` compiles these again, and {len(apart)} units in all. A crate that only tests use raises a feature: "
        "declare it among the [dependencies] of tests/harness/Cargo.toml."
    )


def test_functions_that_are_built_one_by_one_share_what_is_compiled():
    """`make build` builds each function by itself. Cargo compiles a crate again if its features differ, and the clients of AWS take
    minutes (docs/decisions/0070-functions-compile-the-same-dependencies.md)."""
    with_features = {}
    for function in sorted(path.name for path in (ROOT / "functions").iterdir()):
        for unit in graph(f"cargo build --release --locked --package {function}").values():
            # What runs during a build is not part of a function.
            if "lib" in unit["target"]["kind"] and unit["profile"]["opt_level"] != "0":
                functions = with_features.setdefault(unit["pkg_id"], {})
                functions.setdefault(tuple(sorted(unit["features"])), []).append(function)
    assert {crate: features for crate, features in with_features.items() if len(features) > 1} == {}, (
        "Functions compile these crates with different features. Declare the features among the [dependencies] of "
        "shared/runtime/Cargo.toml."
    )


def manifests():
    members = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["members"]
    return sorted(path for member in members for path in ROOT.glob(f"{member}/Cargo.toml"))


@pytest.mark.parametrize("manifest", manifests(), ids=lambda path: path.parent.name)
def test_a_target_is_compiled_for_tests_only_if_it_has_some(manifest):
    """`test = false` saves the second compilation of a library or program without tests in it, and would hide those of another."""
    package, folder = tomllib.loads(manifest.read_text()), manifest.parent / "src"
    programs = [folder / "main.rs"] + sorted(folder.glob("bin/*.rs"))
    library = [path for path in folder.rglob("*.rs") if path not in programs]
    has_tests = any("cfg(test)" in path.read_text() for path in library)
    if (folder / "lib.rs").exists():
        assert package.get("lib", {}).get("test", True) == has_tests
    for program in filter(pathlib.Path.exists, programs):
        assert "cfg(test)" not in program.read_text()
        assert [target["test"] for target in package["bin"]] == [False]
