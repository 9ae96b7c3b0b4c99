"""Every link of every page leads to a file that is there, and to an anchor that the file has."""

import re
import urllib.parse

import pytest

from pages import ROOT, all_pages, anchors_of, links_of


@pytest.mark.parametrize("page", all_pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    wrong = [link for link in links_of(page) if not re.match(r"[a-z][a-z0-9+.-]*:", link) and not leads(page, link)]
    assert not wrong


def leads(page, link):
    path, _, anchor = urllib.parse.unquote(link).partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.is_relative_to(ROOT) or not target.exists():
        return False
    return not anchor or (target.suffix == ".md" and anchor in anchors_of(target))
