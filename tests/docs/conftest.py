"""A running stack for the commands of the pages."""

import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from local_stack import running  # noqa: E402


@pytest.fixture(scope="session")
def stack():
    """The content of the stack's file, with the path of the file as `file`."""
    with running("docs") as file:
        yield json.loads(file.read_text()) | {"file": file}
