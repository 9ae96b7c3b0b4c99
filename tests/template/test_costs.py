"""The costs of an idle stack in docs/costs.md follow from the template."""

import re

import pytest

from expand import Stack, source
from invariants import ROOT, _counted, _queue_mappings

PAGE = (ROOT / "docs" / "costs.md").read_text()
STAGES = ("development", "staging", "production")

# Prices in us-east-1, in dollars.
SQS_REQUEST = 0.50e-6
LAMBDA_REQUEST, LAMBDA_GB_SECOND = 0.20e-6, 0.0000133334
READ_UNIT = 0.125e-6
LIST = 0.005e-3
LOG_GB = 0.50
ALARM, DASHBOARD, METRIC = 0.10, 3.00, 0.30
WEB_ACL, WEB_ACL_RULE = 5.00, 1.00

MINUTES = 30 * 24 * 60
HOURS = 30 * 24
POLLERS = 5  # Lambda begins with so many for a queue
POLLS_A_MINUTE = 3  # each waits for 20 seconds
SWEEPER_SECONDS, SWEEPER_QUERIES = 0.05, 16
LOGGED_BYTES = 2_000
METRICS_OF_LISTS = 7  # all requests, lists, errors of both kinds, bytes, two latencies


def idle(stage):
    """Row -> dollars a month."""
    stack = Stack(source(), Stage=stage)
    functions = {function["FunctionName"].removeprefix("messaging-"): function for function in stack.of_type("AWS::Lambda::Function").values() if "CodeDeployHook" not in function["FunctionName"]}
    schedules = {rule["ScheduleExpression"] for rule in stack.of_type("AWS::Events::Rule").values()}
    assert schedules == {"rate(1 minute)", "rate(1 hour)", "rate(1 day)"}, "the table counts other runs; the day's cost nothing"
    sweeper = functions["sweeper"]["MemorySize"] / 1024 * SWEEPER_SECONDS * LAMBDA_GB_SECOND + LAMBDA_REQUEST + SWEEPER_QUERIES * 0.5 * READ_UNIT
    acls = stack.of_type("AWS::WAFv2::WebACL").values()
    measured = [bucket for bucket in stack.of_type("AWS::S3::Bucket").values() if bucket.get("MetricsConfigurations")]
    alarms = stack.of_type("AWS::CloudWatch::Alarm").values()
    assert all("Metrics" not in alarm and alarm["Period"] >= 60 for alarm in alarms), "an alarm that costs more"
    return {
        "Lambda polls the queues": len(list(_queue_mappings(stack))) * POLLERS * POLLS_A_MINUTE * MINUTES * SQS_REQUEST,
        "`sweeper`": MINUTES * sweeper,
        "`event-relay` looks at the failure bucket": HOURS * (LIST + LAMBDA_REQUEST),
        "logs": (MINUTES + HOURS) * LOGGED_BYTES / 1e9 * LOG_GB,
        "alarms": len(alarms) * ALARM,
        "dashboard": len(stack.of_type("AWS::CloudWatch::Dashboard")) * DASHBOARD,
        "request metrics of the failure bucket": len(measured) * METRICS_OF_LISTS * METRIC,
        "web ACLs": sum(WEB_ACL + len(acl["Rules"]) * WEB_ACL_RULE for acl in acls),
    }


def table():
    """Row -> what the page says for each stage."""
    (block,) = re.findall(r"<!-- idle -->\n(.*?)<!-- /idle -->", PAGE, re.S)
    rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in block.splitlines()[2:]]
    return {row[0]: row[2:] for row in rows}


@pytest.mark.parametrize("stage", STAGES)
def test_the_page_says_what_an_idle_stack_costs(stage):
    said = {row: cells[STAGES.index(stage)] for row, cells in table().items()}
    dollars = idle(stage)
    wanted = {row: f"${amount:.2f}" for row, amount in dollars.items()}
    total = sum(round(amount, 2) for amount in dollars.values())
    assert said == wanted | {"**in all**": f"**${total:.2f}**"}


def test_the_page_says_how_many_metrics_the_functions_may_count():
    metrics = sum(len(dimensions) for dimensions in _counted().values())
    assert re.findall(r"<!-- metrics -->(\d+)<!-- /metrics -->", PAGE) == [str(metrics)]
    assert re.findall(r"<!-- metrics cost -->([\d.]+)<!-- /metrics cost -->", PAGE) == [f"{metrics * METRIC:.2f}"]
    saved = sum(WEB_ACL + len(acl["Rules"]) * WEB_ACL_RULE for acl in Stack(source(), Stage="production").of_type("AWS::WAFv2::WebACL").values())
    assert f"a production stack costs ${saved:.2f} less" in PAGE
