"""The commands on the pages: those for the local stack are run unchanged, those for AWS are parsed."""

import os
import pathlib
import re
import subprocess
import time
import urllib.request

import pytest

from pages import LATER, ROOT, RUNBOOKS, all_pages, blocks_of, differences

CONSOLE = ROOT / "target" / "debug" / "console"
BLOCKS = {page: blocks_of(page) for page in all_pages()}
PAGES = {page: of_commands for page in BLOCKS if (of_commands := [block for block in BLOCKS[page] if block.is_commands])}
ID = "3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90"


def name(value):
    return str(value.relative_to(ROOT)) if isinstance(value, pathlib.Path) else value.place


def chosen(choose):
    return [block for blocks in PAGES.values() for block in blocks if choose(block)]


def test_every_mark_of_a_block_has_a_meaning():
    marks = {tuple(block.words[1:]) for blocks in PAGES.values() for block in blocks}
    assert marks <= {(), ("aws",), ("by-hand",)}


def test_every_output_follows_its_commands_directly():
    """Otherwise no test checks it."""
    apart = [
        block.place
        for page, blocks in BLOCKS.items()
        for block in blocks
        if block.words[:1] in (["text"], ["json"]) and not block.is_made and not page.is_relative_to(RUNBOOKS)
    ]
    assert apart == []


def test_no_page_redefines_the_console():
    """Otherwise a reader who copies commands from several pages could reach AWS by accident."""
    assert [block.place for block in chosen(lambda block: re.search(r"\bconsole *\(\)|alias console", block.text))] == []


@pytest.mark.parametrize("block", chosen(lambda block: not block.is_run), ids=name)
def test_commands_that_are_not_run_can_be_parsed(block):
    parsed = subprocess.run(["bash", "-n"], input=block.text, text=True, stderr=subprocess.PIPE)
    assert (parsed.returncode, parsed.stderr) == (0, "")


@pytest.mark.parametrize("block", chosen(lambda block: "aws" in block.words), ids=name)
def test_console_commands_for_aws_name_their_stack_and_can_be_read(block, tmp_path):
    """Runs the block in a shell without programs. Its console commands call the real console, which cannot reach AWS. It
    exits with 2 if it cannot read the command, and with 1 because no stack answers."""
    script = tmp_path / "block.sh"
    script.write_text(block.text)
    shell = f"""
        PATH=/nowhere
        command_not_found_handle() {{ :; }}
        console() {{
            local status=0 said
            said=$("{CONSOLE}" "$@" 2>&1) || status=$?
            [ $status = 1 ] || {{ echo "console $*: $status: $said" >&3; }}
            case " ${{STACK-}} $* " in *" --stack "*) ;; "  "*) echo "console $*: no stack is named" >&3 ;; esac
        }}
        . "{script}" >/dev/null 2>&1
    """
    environment = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "none"}
    environment |= {"AWS_SECRET_ACCESS_KEY": "none", "AWS_MAX_ATTEMPTS": "1", "W": ID, "E": ID, "KEY": "k", "BRAND": "b"}
    environment |= {"TEMPLATE": ID, "API_URL": "http://127.0.0.1:9"}
    complaints = tmp_path / "complaints"
    with complaints.open("w") as kept:
        command = ["bash", "--norc", "--noprofile", "-c", f"exec 3>&{kept.fileno()}\n{shell}"]
        subprocess.run(command, cwd=tmp_path, env=environment, pass_fds=[kept.fileno()], stdin=subprocess.DEVNULL)
    assert complaints.read_text() == ""


@pytest.mark.parametrize("page", [page for page, blocks in PAGES.items() if any(b.is_run for b in blocks)], ids=name)
def test_commands_for_the_local_stack_do_what_the_page_shows(page, stack, tmp_path):
    for ledger in (stack["receiverLedgerUrl"], stack["captchaUrl"], stack["providerUrl"]):
        urllib.request.urlopen(urllib.request.Request(f"{ledger}/ledger", method="DELETE")).close()
    with Shell(stack["file"], tmp_path) as shell:
        for block in PAGES[page]:
            if block.is_run:
                run(shell, block)


def run(shell, block):
    deadline = time.monotonic() + 60
    while True:
        printed, failed = shell.run(block.text)
        wrong = f"these commands fail: {failed}" if failed else None
        if not wrong and block.shown:
            wrong = differences(block.shown, printed)
        if not wrong and not block.shown and re.search(r'"(code|type)": ?"SERVICE[._]', printed):
            wrong = "the API refuses something, and the page does not show it"
        if not wrong:
            return
        if not block.text.startswith(LATER) or time.monotonic() > deadline:
            pytest.fail(f"{block.place}: {wrong}\n{block.text}--- printed:\n{printed}", pytrace=False)
        time.sleep(0.5)


class Shell:
    """A reader's shell, in the folder of the checkout."""

    def __init__(self, stack_file, folder):
        self.folder = folder
        self.failed = folder / "failed"
        environment = os.environ | {"STACK_FILE": str(stack_file), "LC_ALL": "C.UTF-8"}
        for kept_out in ("STACK", "AWS_PROFILE", "AWS_ENDPOINT_URL"):
            environment.pop(kept_out, None)
        self.process = subprocess.Popen(
            ["bash", "--norc", "--noprofile"], cwd=ROOT, env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        # As in a reader's shell, a failure does not end the shell. The trap records it.
        self._write(f"set -E -o pipefail; trap 'echo \"$BASH_COMMAND\" >> {self.failed}' ERR\n")

    def run(self, text):
        """Returns the output of the commands, and the commands that failed."""
        commands, printed = self.folder / "commands", self.folder / "printed"
        commands.write_text(text)
        self.failed.write_text("")
        self._write(f". {commands} > {printed} 2>&1 < /dev/null; echo done\n")
        if self.process.stdout.readline() != "done\n":
            pytest.fail(f"the shell ends: {text}\n{printed.read_text()}")
        return printed.read_text(), self.failed.read_text()

    def _write(self, line):
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()
