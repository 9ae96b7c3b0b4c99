"""The pages of this repository and their content: command blocks with the output that the page shows, links, anchors.

How a page marks its blocks:

    ```sh           Commands for the local stack. The test runs them unchanged. All blocks of a page run in one shell, in the
                    order of the page.
    ```text         Directly after a block of commands: their output.
    ```json         The same for one JSON value. The page may spread it over lines; its fields may be in any order.
    ```sh aws       Commands for AWS. The test only parses them, and gives their console commands to the real console.
    ```sh by-hand   Commands that start, build or test everything (`make run`). These tests need the result of such commands.
                    The test only parses the block, and does not check its output.

In the output on a page, `...` matches any text, and a line `...` matches any lines. An id, a time, a port, a signature, a
key or a secret matches any other. If a block begins with the comment `# A moment later`, the test repeats it for up to a
minute, until it prints what the page shows.

Everything in docs/runbooks is for AWS, so its blocks need no mark.
"""

import dataclasses
import json
import os
import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]
RUNBOOKS = ROOT / "docs" / "runbooks"
BUILT = ("target", "node_modules", "__pycache__")
SHELLS = ("sh", "bash", "console")
OUTPUTS = ("text", "json")
LATER = "# A moment later"

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
TIMESTAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"
SECONDS = r"\b1\d{9}\b"
PORT = r"127\.0\.0\.1:\d+"
SIGNATURE = r"v1,[A-Za-z0-9+/]{43}=|sha256=[0-9a-f]{64}"
TOKEN = r"\b(?:msk|lck|whsec)_[A-Za-z0-9+/]+=?"
VARYING = [re.compile(pattern) for pattern in (UUID, TIMESTAMP, SECONDS, PORT, SIGNATURE, TOKEN)]


@dataclasses.dataclass
class Block:
    """A fenced block: the words after its fence, its text, its place."""

    page: pathlib.Path
    line: int
    words: list
    text: str
    # Whether a program writes the block into the page, between marks.
    is_made: bool = False
    # The block that shows its output, or None.
    shown: "Block | None" = None

    @property
    def is_commands(self):
        return bool(self.words) and self.words[0] in SHELLS

    @property
    def is_run(self):
        return self.is_commands and len(self.words) == 1 and not self.page.is_relative_to(RUNBOOKS)

    @property
    def place(self):
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def all_pages():
    """Every page of the repository, except pages in folders of built or installed files."""
    pages = []
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name == ".github" or name not in BUILT and not name.startswith(".")]
        pages += [pathlib.Path(folder) / file for file in files if file.endswith(".md")]
    return sorted(pages)


def blocks_of(page):
    """The fenced blocks of a page. An output belongs to the commands before it."""
    blocks, lines = [], page.read_text().splitlines()
    at, behind = 0, None
    while at < len(lines):
        fence = re.match(r"( *)(`{3,})(.*)", lines[at])
        if not fence:
            # Only blank lines may stand between commands and their output.
            behind = behind if not lines[at].strip() else None
            at += 1
            continue
        indent, ticks, words = fence.groups()
        end = next(n for n in range(at + 1, len(lines)) if lines[n].strip() == ticks)
        text = "".join(line.removeprefix(indent) + "\n" for line in lines[at + 1 : end])
        before = "\n".join(lines[:at])
        is_made = before.count("<!-- made:") > before.count("<!-- /made:")
        block = Block(page, at + 1, words.split(), text, is_made)
        if block.words[:1] and block.words[0] in OUTPUTS and behind:
            behind.shown = block
            behind = None
        else:
            blocks.append(block)
            behind = block if block.is_commands else None
        at = end + 1
    return blocks


def without_blocks(page):
    return re.sub(r"(?ms)^( *)(`{3,})[^\n]*\n.*?^\1\2 *$", "", page.read_text())


def links_of(page):
    """The targets of a page's links and images."""
    text = without_blocks(page)
    targets = re.findall(r"\]\(([^()\s]+(?:\([^()\s]*\))?)(?: \"[^\"]*\")?\)", text)
    return targets + re.findall(r"(?m)^\[[^\]]+\]: (\S+)", text)


def anchors_of(page):
    """The anchors that GitHub makes from the headings of a page."""
    text = without_blocks(page)
    anchors, seen = set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text)), {}
    for heading in re.findall(r"(?m)^#{1,6} +(.*?) *#*$", text):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        count = seen[anchor] = seen.get(anchor, -1) + 1
        anchors.add(f"{anchor}-{count}" if count else anchor)
    return anchors


def differences(shown, printed):
    """Returns how the printed output differs from the page, or None if it matches."""
    if shown.words[0] == "json":
        try:
            values = (json.loads(shown.text), json.loads(printed))
        except ValueError as error:
            return f"this is not one JSON value ({error})"
        return different_value(*values, "the value")
    lines = [line.rstrip() for line in shown.text.strip("\n").splitlines()]
    pattern = "\n".join(r"(?:.*\n)*?.*" if line.strip() == "..." else fitting(line) for line in lines)
    printed = "\n".join(line.rstrip() for line in printed.strip("\n").splitlines())
    return None if re.fullmatch(pattern, printed) else "this does not match the page"


def different_value(shown, printed, where):
    if shown == "...":
        return None
    if isinstance(shown, str) and isinstance(printed, str):
        return None if re.fullmatch(fitting(shown), printed) else f"{where} is {printed!r}"
    if isinstance(shown, dict) and isinstance(printed, dict):
        if missing := shown.keys() ^ printed.keys():
            return f"{where}: either the page or the output has no {', '.join(sorted(missing))}"
        found = (different_value(value, printed[key], f"{where}.{key}") for key, value in shown.items())
        return next(filter(None, found), None)
    if isinstance(shown, list) and isinstance(printed, list):
        if shown[-1:] == ["..."]:
            shown, printed = shown[:-1], printed[: len(shown) - 1]
        if len(shown) != len(printed):
            return f"{where} has {len(printed)} entries"
        found = (different_value(*pair, f"{where}[{n}]") for n, pair in enumerate(zip(shown, printed)))
        return next(filter(None, found), None)
    return None if shown == printed and type(shown) is type(printed) else f"{where} is {printed!r}"


def fitting(text):
    """The pattern that matches what a line or a text on a page stands for."""
    pattern, at = "", 0
    varying = sorted((found.span(), kind.pattern) for kind in VARYING for found in kind.finditer(text))
    for (begin, end), kind in varying:
        pattern += literally(text[at:begin]) + f"(?:{kind})"
        at = end
    return pattern + literally(text[at:])


def literally(text):
    """The pattern of a fixed text: `...` matches anything, blanks match any number of blanks, the rest matches itself."""
    parts = [r"[^\n]*?" if part == "..." else r"[ \t]+" if part.isspace() else re.escape(part)
             for part in re.split(r"(\.\.\.|[ \t]+)", text) if part]
    return "".join(parts)
