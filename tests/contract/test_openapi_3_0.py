"""openapi-3.0.yaml says what openapi.yaml says, as far as OpenAPI 3.0 can."""

import openapi_3_0
import yaml
from document import METHODS, document
from openapi_spec_validator import OpenAPIV30SpecValidator

WHOLE = yaml.safe_load(openapi_3_0.FILE.read_text())


def test_the_file_is_current():
    assert openapi_3_0.FILE.read_text() == openapi_3_0.made(), "run tests/contract/openapi_3_0.py"


def test_the_file_is_valid():
    OpenAPIV30SpecValidator(WHOLE).validate()


def names(whole):
    """Each operation with its parameters and its statuses."""
    for path, item in whole["paths"].items():
        for method in METHODS & item.keys():
            operation = item[method]
            yield path, method, operation["operationId"], operation.get("parameters"), [*operation["responses"]]


def test_the_file_has_every_operation_but_preflights():
    without = [(*name, statuses) for *name, _, statuses in names(WHOLE)]
    assert without == [(*name, statuses) for *name, _, statuses in names(document()) if name[1] != "options"]


def test_an_operation_has_one_type_of_failure():
    failures = {"#/components/schemas/Error", "#/components/schemas/Problem"}
    for name, answer in openapi_3_0.answers(WHOLE):
        for media in answer.get("content", {}).values():
            is_success = str(name).startswith("2")
            assert is_success or media["schema"].get("$ref") in failures or "text/" in str(answer), name


def test_a_value_that_may_be_null_says_so_in_the_words_of_3_0():
    contact = WHOLE["components"]["schemas"]["ContactBase"]["properties"]
    assert contact["cellphone"]["type"] == "string" and contact["cellphone"]["nullable"]
    assert contact["languageCode"]["nullable"]
    assert contact["languageCode"]["allOf"] == [{"$ref": "#/components/schemas/LanguageCode"}]
    text = openapi_3_0.FILE.read_text()
    assert "const:" not in text and "'null'" not in text and "propertyNames" not in text
