"""The index of the decisions lists each of them, with its title and whether it is superseded."""

import re

from pages import ROOT

DECISIONS = ROOT / "docs" / "decisions"


def test_the_index_lists_every_decision():
    listed = re.findall(r"^\| \[(\d{4})\]\((\S+)\) \| (.+?) \| (.*?) ?\|$", (DECISIONS / "README.md").read_text(), re.M)
    assert listed == [row(page) for page in sorted(DECISIONS.glob("0*.md"))]


def row(page):
    text = page.read_text()
    title = re.search(rf"^# {page.name[:4]}: (.+)$", text, re.M).group(1)
    status = re.match(r"Superseded( in part)?", text)
    return (page.name[:4], page.name, title, status.group().lower() if status else "")
