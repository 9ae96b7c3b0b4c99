"""Tests of the hook that checks the message of a commit (`make hooks`)."""

import pathlib
import subprocess

import pytest

HOOK = pathlib.Path(__file__).parents[2] / ".githooks" / "commit-msg"
LONGEST = "Say" + " why" * 17 + "!"
BODY = "\n\nReceivers saw it twice.\n"


def refused(message, tmp_path):
    """The reason of the refusal, or None if the hook accepts the message."""
    file = tmp_path / "COMMIT_EDITMSG"
    file.write_text(message)
    ran = subprocess.run([HOOK, file], capture_output=True, text=True)
    return None if ran.returncode == 0 else ran.stderr.splitlines()[0].removeprefix("The commit stops here: ")


@pytest.mark.parametrize(
    "message",
    [
        LONGEST + BODY,
        LONGEST[:-1] + "ß" + BODY,
        "Say why\n\n# a comment of git\nReceivers saw it twice.\n",
        "Say why" + BODY + "# ------------------------ >8 ------------------------\ndiff --git a/a b/a\n",
        "fixup! Say why\n",
        "Merge branch 'w'\n",
    ],
)
def test_a_message_is_accepted(message, tmp_path):
    assert refused(message, tmp_path) is None


@pytest.mark.parametrize(
    "message, reason",
    [
        ("", "the message has no subject."),
        ("# a comment of git\n", "the message has no subject."),
        (LONGEST + "!" + BODY, "the subject has 73 characters, and may have 72."),
        ("Say why\nReceivers saw it twice.\n", "the second line must be empty."),
        ("Say why\n", "the message has no body. Say why the change is made."),
        ("Say why\n\n# a comment of git\n", "the message has no body. Say why the change is made."),
        ("Say why\n\nCo-authored-by: A <a@example.com>\n", "the message has no body. Say why the change is made."),
        (
            "Say why\n\n# ------------------------ >8 ------------------------\ndiff --git a/a b/a\n",
            "the message has no body. Say why the change is made.",
        ),
    ],
)
def test_a_message_is_refused(message, reason, tmp_path):
    assert refused(message, tmp_path) == reason
