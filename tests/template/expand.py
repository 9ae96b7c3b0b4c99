"""The template as CloudFormation sees it, with SAM expanded and with parameters and conditions applied."""

import functools
import json
import pathlib
import re
import unittest.mock

from samcli.yamlhelper import yaml_parse
from samtranslator.parser.parser import Parser
from samtranslator.swagger import swagger
from samtranslator.translator.translator import Translator

TEMPLATE = pathlib.Path(__file__).parents[2] / "template.yaml"

PSEUDO_PARAMETERS = {
    "AWS::AccountId": "123456789012",
    "AWS::Partition": "aws",
    "AWS::Region": "eu-west-1",
    "AWS::StackName": "messaging",
    "AWS::URLSuffix": "amazonaws.com",
}
ABSENT = object()


@functools.cache
def _source_text():
    # The conversion to JSON gives every YAML alias its own copy.
    return json.dumps(yaml_parse(TEMPLATE.read_text()))


def source():
    """A new copy of template.yaml with the short forms of functions written out."""
    return json.loads(_source_text())


class _NoNetworkParser(Parser):
    """SAM's parser without the lookups that need an AWS account."""

    def _validate(self, sam_template, parameter_values):
        pass


class _Region:
    region_name = PSEUDO_PARAMETERS["AWS::Region"]

    def get_partition_for_region(self, _region):
        return "aws"


def expanded(template, values):
    """The resources of a template as SAM expands them. All three are JSON."""
    local = json.loads(template)
    for resource in local["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            resource["Properties"]["CodeUri"] = "s3://bucket/key"
    translator = Translator({}, _NoNetworkParser(), boto_session=_Region())
    return json.dumps(translator.translate(local, json.loads(values))["Resources"])


@functools.lru_cache(maxsize=64)
def expanded_fast(template, values):
    """The same but for the hashes of deployments. SAM copies the document of an API twice for each route, which takes four fifths
    of an expansion: here it adds the routes in place. Cached, because most invariants need the same."""
    with unittest.mock.patch.object(swagger, "_deepcopy", lambda document: document):
        return expanded(template, values)


class Stack:
    """One deployment of a template. `resources` are evaluated except for references between resources."""

    pseudo_parameters = PSEUDO_PARAMETERS

    def __init__(self, template, **parameters):
        self.template = template
        declared = template["Parameters"]
        unknown = set(parameters) - set(declared)
        assert not unknown, f"no such parameters: {unknown}"
        self.values = {name: parameters.get(name, spec.get("Default")) for name, spec in declared.items()}
        resources = json.loads(expanded_fast(json.dumps(template), json.dumps(self.values)))
        self.conditions = {name: self._evaluate(rule) for name, rule in template.get("Conditions", {}).items()}
        self.resources = {
            name: self._evaluate(resource)
            for name, resource in resources.items()
            if self.conditions.get(resource.get("Condition"), True)
        }
        self.outputs = {
            name: self._evaluate(output["Value"])
            for name, output in template["Outputs"].items()
            if self.conditions.get(output.get("Condition"), True)
        }

    def of_type(self, kind):
        """The logical ids and the evaluated properties of all resources of a type."""
        return {
            name: resource.get("Properties", {}) for name, resource in self.resources.items() if resource["Type"] == kind
        }

    def refused_by(self):
        """The rules in the template's Rules section that these parameters violate."""
        broken = []
        for name, rule in self.template.get("Rules", {}).items():
            if self._evaluate(rule.get("RuleCondition", True)):
                broken += [name for assertion in rule["Assertions"] if not self._evaluate(assertion["Assert"])]
        return broken

    def largest(self, value):
        """The greatest number that a property can have if its value comes from a parameter."""
        if isinstance(value, dict) and set(value) == {"Ref"}:
            spec = self.template["Parameters"][value["Ref"]]
            return max(map(int, spec["AllowedValues"])) if "AllowedValues" in spec else int(spec["MaxValue"])
        return int(value)

    def _evaluate(self, node):
        if isinstance(node, list):
            return [item for item in map(self._evaluate, node) if item is not ABSENT]
        if not isinstance(node, dict):
            return node
        if len(node) == 1:
            (function, argument), = node.items()
            if function in self._FUNCTIONS:
                return self._FUNCTIONS[function](self, argument)
        evaluated = {key: self._evaluate(value) for key, value in node.items()}
        return {key: value for key, value in evaluated.items() if value is not ABSENT}

    def _reference(self, name):
        if name == "AWS::NoValue":
            return ABSENT
        if name in self.pseudo_parameters:
            return self.pseudo_parameters[name]
        return self.values.get(name, {"Ref": name})

    def _substitute(self, argument):
        text, names = (argument, {}) if isinstance(argument, str) else argument

        def one(match):
            name = match.group(1)
            value = self._evaluate(names[name]) if name in names else self._reference(name)
            if isinstance(value, dict) and set(value) == {"Ref"}:
                return f"${{{value['Ref']}}}"
            return str(value) if isinstance(value, (str, int)) else match.group(0)

        return re.sub(r"\$\{([^!}][^}]*)}", one, text)

    def _join(self, argument):
        delimiter, parts = argument
        return delimiter.join(f"${{{part['Ref']}}}" if isinstance(part, dict) else str(part) for part in self._evaluate(parts))

    def _choose(self, argument):
        condition, yes, no = argument
        return self._evaluate(yes if self.conditions[condition] else no)

    def _find(self, argument):
        name, *keys = argument
        found = self.template["Mappings"][name]
        for key in keys:
            found = found[self._evaluate(key)]
        return found

    def _contains(self, argument):
        members, value = argument
        return str(self._evaluate(value)) in map(str, self._evaluate(members))

    def _equals(self, argument):
        left, right = self._evaluate(argument)
        return str(left) == str(right)

    _FUNCTIONS = {
        "Ref": _reference,
        "Fn::Sub": _substitute,
        "Fn::Join": _join,
        "Fn::If": _choose,
        "Fn::FindInMap": _find,
        "Condition": lambda self, name: self._evaluate(self.template["Conditions"][name]),
        "Fn::Contains": _contains,
        "Fn::Equals": _equals,
        "Fn::Not": lambda self, argument: not self._evaluate(argument[0]),
        "Fn::And": lambda self, argument: all(map(self._evaluate, argument)),
        "Fn::Or": lambda self, argument: any(map(self._evaluate, argument)),
    }
