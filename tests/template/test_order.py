"""template.yaml follows its table of contents, and the resources of each function are in its sections."""

import re

import pytest

from expand import TEMPLATE, source

# Metric -> function, for metrics whose dimensions name no function.
WATCHED_BY_METRIC = {
    "CaptchaMisconfigured": "leads",
    "CaptchaUnavailable": "leads",
    "EgressFailures": "webhook-delivery",
    "EndpointsDisabled": "webhook-delivery",
    "NotSwept": "sweeper",
    "PersonJobsLate": "people",
    "ProviderChangesSeen": "inbox",
    "ProviderWebhooksRefused": "provider-events",
    "ProviderWebhooksUnreadable": "provider-events",
    "PutRequests": "event-relay",
    "RecordsNotRelayed": "event-relay",
    "RelayLag": "event-relay",
    "Rescued": "sweeper",
    "SendsUnknown": "message-sender",
}
API_ALARMS = "Alarms of the APIs"


def sections(text):
    """Section name -> the logical ids of its resources, in the order of the file."""
    found = {}
    in_resources = False
    for line in text.splitlines():
        if header := re.fullmatch(r" *# ==== (.+)", line):
            assert header[1] not in found, f"two sections are called {header[1]}"
            found[header[1]] = []
        elif line and line[0] not in " #":
            in_resources = line == "Resources:"
        elif in_resources and (resource := re.fullmatch(r"  (\w+):", line)):
            list(found.values())[-1].append(resource[1])
    return found


def contents(text):
    """The names in the table of contents."""
    comment = re.search(r"^# Contents.*\n(?:#.+\n)*#\n((?:#   .*\n)+)", text, re.MULTILINE)[1]
    return [name.strip() for name in comment.replace("#", "").replace("\n", "|").split("|") if name.strip()]


def belongs(template):
    """Logical id -> section, for each alarm and each resource of a single function."""
    resources = template["Resources"]
    functions = {
        name: properties["FunctionName"]["Fn::Sub"].removeprefix("${AWS::StackName}-")
        for name, properties in of_type(resources, "AWS::Serverless::Function")
    }
    section = dict(functions)
    queues = {}
    for name, properties in of_type(resources, "AWS::Serverless::Function"):
        section[properties["Role"]["Fn::GetAtt"][0]] = section[name]
        section[properties["LoggingConfig"]["LogGroup"]["Ref"]] = section[name]
        for event in properties["Events"].values():
            if event["Type"] == "SQS":
                queues[event["Properties"]["Queue"]["Fn::GetAtt"][0]] = functions[name]
    for queue in list(queues):
        dead_letters = resources[queue]["Properties"]["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"][0]
        queues[dead_letters] = queues[queue]
    section |= {queue: f"{function}: queues" for queue, function in queues.items()}
    for name, properties in of_type(resources, "AWS::CloudWatch::Alarm"):
        section[name] = watched(properties, functions, queues)
    return section


def watched(alarm, functions, queues):
    values = {dimension["Name"]: dimension["Value"] for dimension in alarm["Dimensions"]}
    if "FunctionName" in values:
        return functions[values["FunctionName"]["Ref"]]
    if "QueueName" in values:
        return queues[values["QueueName"]["Fn::GetAtt"][0]]
    if "ApiName" in values:
        return API_ALARMS
    return values.get("Function") or WATCHED_BY_METRIC[alarm["MetricName"]]


def of_type(resources, kind):
    return [(name, resource["Properties"]) for name, resource in resources.items() if resource["Type"] == kind]


def misplaced(text, template):
    """A sentence per violation."""
    found = sections(text)
    if contents(text) != list(found):
        yield f"the contents say {contents(text)}, the sections are {list(found)}"
    placed = {name: section for section, names in found.items() for name in names}
    for name in template["Resources"].keys() - placed.keys():
        yield f"{name} is in no section"
    for name, section in belongs(template).items():
        if placed.get(name) != section:
            yield f"{name} belongs to the section {section}, but is in {placed.get(name)}"
    functions = [section for section in found if section in belongs(template).values() and ":" not in section]
    queues = [section.removesuffix(": queues") for section in found if section.endswith(": queues")]
    if queues != [function for function in functions if function in queues]:
        yield f"the sections of queues have a different order than those of the functions: {queues}"


def test_the_resources_of_a_function_are_in_its_sections():
    assert list(misplaced(TEMPLATE.read_text(), source())) == []


def swapped(text, one, other):
    return text.replace(one, "\0").replace(other, one).replace("\0", other)


@pytest.mark.parametrize(
    "sentence, spoil",
    [
        ("the contents say", lambda text: text.replace(" | Shared roles\n", "\n")),
        ("the contents say", lambda text: text.replace("  # ==== Shared roles\n", "")),
        ("RelayLag is in no section", lambda text: text.replace("  RelayLag:\n", "")),
        ("FilesLogGroup belongs to", lambda text: swapped(text, "  ContactsLogGroup:\n", "  FilesLogGroup:\n")),
        ("FilesErrors belongs to", lambda text: swapped(text, "==== contacts\n", "==== files\n")),
        ("SweeperSilent belongs to", lambda text: swapped(text, "  RelayLag:\n", "  SweeperSilent:\n")),
        ("the sections of queues", lambda text: swapped(text, "message-sender: queues", "lead-sender: queues")),
    ],
)
def test_a_wrong_order_is_reported(sentence, spoil):
    text = TEMPLATE.read_text()
    assert [violation for violation in misplaced(spoil(text), source()) if sentence in violation]
