"""samconfig.toml has valid options of `sam build` and `sam deploy` and valid parameters of the template for each stage."""

import re
import subprocess
import tomllib

import click
import pytest
from samcli.commands.build.command import cli as build
from samcli.commands.deploy.auth_utils import auth_per_resource
from samcli.commands.deploy.command import cli as deploy
from samcli.lib.providers.sam_stack_provider import SamLocalStackProvider

from expand import TEMPLATE, Stack, source
from invariants import WIDTHS
from models import LONGEST_STACK_NAME

ROOT = TEMPLATE.parent
CONFIG = tomllib.loads((ROOT / "samconfig.toml").read_text())
STAGES = {"dev": "development", "staging": "staging", "production": "production"}
OPTIONS = {option.name for command in (build, deploy) for option in command.params if isinstance(option, click.Option)}


def parameters(environment):
    return dict(pair.split("=", 1) for pair in CONFIG[environment]["global"]["parameters"]["parameter_overrides"])


def test_there_is_an_environment_for_each_stage():
    assert set(CONFIG) - {"version"} == set(STAGES)
    assert len({CONFIG[environment]["global"]["parameters"]["stack_name"] for environment in STAGES}) == len(STAGES)


@pytest.mark.parametrize("environment", STAGES)
def test_sam_knows_the_options(environment):
    given = {name for command in CONFIG[environment].values() for name in command["parameters"]}
    assert given <= OPTIONS, given - OPTIONS


@pytest.mark.parametrize("environment", STAGES)
def test_the_template_accepts_the_parameters(environment):
    given = parameters(environment)
    assert given["Stage"] == STAGES[environment]
    for name, value in given.items():
        spec = source()["Parameters"][name]
        assert value in spec["AllowedValues"] if "AllowedValues" in spec else spec["MinValue"] <= int(value) <= spec["MaxValue"]
    assert Stack(source(), **given).refused_by() == []
    assert len(CONFIG[environment]["global"]["parameters"]["stack_name"]) <= LONGEST_STACK_NAME


def test_a_development_stack_takes_little_of_the_accounts_concurrency():
    assert {parameters("dev").get(name) for name in WIDTHS.values()} == {"2"}


def test_sam_asks_of_no_route_whether_it_may_lack_authentication():
    stacks, _ = SamLocalStackProvider.get_stacks(str(TEMPLATE))
    asked = [function for function, has_authentication in auth_per_resource(stacks) if not has_authentication]
    assert asked == [], "`sam deploy --guided` asks of each, and Enter means no"


@pytest.mark.parametrize("name", source()["Parameters"])
def test_enter_keeps_a_valid_value_of_each_parameter(name):
    spec = source()["Parameters"][name]
    values = str(spec["Default"]).split(",") if spec["Type"] == "CommaDelimitedList" else [str(spec["Default"])]
    for value in values:
        assert value in map(str, spec.get("AllowedValues", [value]))
        assert re.fullmatch(spec.get("AllowedPattern", ".*"), value)
        assert spec["Type"] != "Number" or spec.get("MinValue", 0) <= int(value) <= spec.get("MaxValue", int(value))


@pytest.mark.parametrize("environment", STAGES)
def test_build_and_deploy_get_the_same_parameters(environment):
    # In the section of one command, the processor of the build could differ from the processor of the deployment.
    assert "parameter_overrides" not in CONFIG[environment].get("build", {"parameters": {}})["parameters"]
    assert "parameter_overrides" not in CONFIG[environment]["deploy"]["parameters"]


@pytest.mark.parametrize("environment", STAGES)
def test_deploy_has_the_options_that_the_template_needs(environment):
    options = CONFIG[environment]["deploy"]["parameters"]
    stack = Stack(source(), Stage=STAGES[environment])
    named = [name for name, role in stack.of_type("AWS::IAM::Role").items() if "RoleName" in role]
    assert options["capabilities"] == ["CAPABILITY_NAMED_IAM" if named else "CAPABILITY_IAM"]
    assert options["resolve_s3"] is True
    assert options["confirm_changeset"] is (environment == "production")


def test_git_does_not_ignore_the_file_with_the_answers():
    ignored = subprocess.run(["git", "check-ignore", "--quiet", "--no-index", "samconfig.toml"], cwd=ROOT)
    assert ignored.returncode != 0
