"""The numbering plans of the function `leads` against the package that they are made from."""

import datetime
import importlib.util
import pathlib
import warnings

ROOT = pathlib.Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("numbering", ROOT / "functions" / "leads" / "numbering.py")
numbering = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(numbering)


def test_the_plans_are_those_of_the_pinned_package():
    assert numbering.difference() is None


def test_a_changed_table_is_noticed(monkeypatch, tmp_path):
    changed = tmp_path / "plans.in"
    changed.write_text(numbering.PLANS.read_text().replace("Kind { lengths: &[9]", "Kind { lengths: &[8]", 1))
    monkeypatch.setattr(numbering, "PLANS", changed)
    assert "run functions/leads/numbering.py" in numbering.difference()


def test_the_age_is_a_sentence_with_advice_when_the_plans_are_old():
    written = datetime.date.fromisoformat(numbering.HEADER.match(numbering.PLANS.read_text())[2])
    plain = numbering.age(written + datetime.timedelta(days=90))
    assert plain == f"The numbering plans are those of libphonenumber {numbering.version()}, 90 days old."
    assert numbering.age(written + datetime.timedelta(days=91)).endswith("91 days old: run `make numbering`.")


def test_how_old_the_plans_are():
    """It warns and does not fail: the same commit must give the same result tomorrow."""
    sentence = numbering.age(datetime.date.today())
    if "make numbering" in sentence:
        warnings.warn(sentence, stacklevel=1)
