"""The runbooks are correct: the links have targets, and the console commands and the log lines exist."""

import itertools
import json
import re

import pytest

from expand import Stack, source
from invariants import FUNCTIONS, NO_ALARMS_RUNBOOKS, RESERVES, ROOT, RUNBOOKS, TABLES, _name_of, _queue_mappings
from test_models import deployment
from test_template import RUNBOOK_SECTIONS

PAGES = sorted(RUNBOOKS.glob("*.md"))
CONSOLE = ROOT / "tools" / "console" / "src"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
        assert (page.parent / link).exists(), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_of_the_console_exist(page):
    for noun, verb in commands(page.read_text()):
        verbs = CONSOLE / f"{noun.replace('-', '_')}.rs"
        variant = "".join(word.capitalize() for word in verb.split("-"))
        assert verbs.exists(), f"console {noun}"
        assert re.search(rf"^    {variant}\b", verbs.read_text(), re.M), f"console {noun} {verb}"


def test_the_runbooks_use_the_console():
    used = set(itertools.chain.from_iterable(commands(page.read_text()) for page in PAGES))
    wanted = {("events", "redrive"), ("delivery", "retry"), ("lead", "retry")}
    wanted |= {("webhook", verb) for verb in ("show", "enable", "recover", "cancel")}
    assert wanted <= used


def commands(text):
    quoted = re.sub(r"\s+", " ", " ".join(re.findall(r"`[^`]*`", text)))
    return re.findall(r"\bconsole (?:--\S+ \S+ )*([a-z]+(?:-[a-z]+)*) ([a-z]+(?:-[a-z]+)*)", quoted)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_logs_are_of_functions_and_lines_are_written(page):
    text = page.read_text()
    for function in re.findall(r"/aws/lambda/\$S-([a-z-]+)", text):
        assert function in FUNCTIONS
    sources = (ROOT / "template.yaml").read_text() + "".join(path.read_text() for root in ("functions", "shared") for path in ROOT.glob(f"{root}/*/src/**/*.rs"))
    for line in re.findall(r"--filter-pattern '\"([^\"]+)\"'", text):
        assert line in sources, line


def test_the_sweeper_can_be_run_by_hand():
    # Without these two the function refuses a scheduled event.
    needed = {"time", "resources"}
    assert needed <= set(json.loads((ROOT / "events" / "sweeper.json").read_text()))
    text = re.sub(r"\s+", " ", (RUNBOOKS / "sweeper.md").read_text())
    payloads = re.findall(r"aws lambda invoke [^`]*--payload '([^']*)'", text)
    assert [set(json.loads(payload)) for payload in payloads] == [needed]


def test_the_index_names_the_pages_without_an_alarm():
    index = (RUNBOOKS / "README.md").read_text()
    for page in NO_ALARMS_RUNBOOKS - {"README"}:
        assert f"({page}.md)" in index, page


def test_the_first_deployment_is_told_like_an_incident():
    text = (RUNBOOKS / "first-deploy.md").read_text()
    assert re.findall(r"^## (.*)$", text, re.M) == RUNBOOK_SECTIONS
    assert text.splitlines()[2].startswith("No alarm")


def test_the_first_deployment_knows_what_remains_and_how_much_there_is():
    text = (RUNBOOKS / "first-deploy.md").read_text()
    (removed,) = re.findall(r"for t in ([a-z -]+); do", text)
    assert set(removed.split()) == set(TABLES)
    stack = deployment(source(), "all on", "default")
    kinds = {"alarms": "AWS::CloudWatch::Alarm", "roles": "AWS::IAM::Role", "log groups": "AWS::Logs::LogGroup", "tables": "AWS::DynamoDB::Table"}
    for word, kind in kinds.items():
        assert f"{len(stack.of_type(kind))} {word}" in text, word


def test_a_restore_stops_every_function_that_uses_a_table():
    text = (RUNBOOKS / "restore.md").read_text()
    stopped, behind_queues = (set(names.split()) for names in re.findall(r"for f in ([a-z -]+); do", text))
    # It writes no table, and a function that is off would refuse what the provider sends.
    without_tables = {name for name, (_, tables) in FUNCTIONS.items() if not tables}
    assert stopped | behind_queues == set(FUNCTIONS) - without_tables - {"provider-events"}
    # A concurrency of 0 moves the messages of a queue to its dead letters.
    assert behind_queues == {_name_of(function) for _, function in _queue_mappings(Stack(source()))}
    (order,) = re.findall(r"^6\. Start the functions.*?`sweeper`", text, re.M | re.S)
    assert all(f"`{name}`" in order for name in stopped | behind_queues if name not in RESERVES["ApiReservedConcurrency"])


def test_a_restore_knows_every_table():
    text = (RUNBOOKS / "restore.md").read_text()
    assert [set(names.split()) for names in re.findall(r"for t in ([a-z -]+); do", text)] == [set(TABLES)] * 3


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_parameters_exist(page):
    text = page.read_text()
    given = re.findall(r"--parameter-overrides ((?:\w+=\S+ ?)+)", text)
    names = {pair.split("=")[0] for pairs in given for pair in pairs.split()}
    names |= set(re.findall(r"`(\w+)=\w+`", text)) & {name for name in re.findall(r"`([A-Z][a-z]+[A-Z]\w+)=", text)}
    assert names <= set(source()["Parameters"]), names - set(source()["Parameters"])
