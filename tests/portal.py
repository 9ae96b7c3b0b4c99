"""Checks that the committed document of the portal, functions/portal/pages/index.html, is what its sources give.

    portal.py          compares the digest of the sources with the one in the document. Needs no Node
    portal.py build    also builds the document again and compares the bytes, and checks types and words
"""

import hashlib
import pathlib
import re
import subprocess
import sys

PORTAL = pathlib.Path(__file__).parents[1] / "functions" / "portal"
WEB = PORTAL / "web"


def digest_of_sources():
    """As `sources` in build.mjs."""
    files = [path for path in (WEB / "src").rglob("*") if path.is_file() and path.name != "openapi.d.ts"]
    files += [WEB / name for name in ("build.mjs", "package.json", "package-lock.json")]
    lines = {path.relative_to(WEB).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    snippet = re.search(r"```html\n(.*?)```", (PORTAL.parents[1] / "docs" / "lead-capture.md").read_text(), re.DOTALL)[1]
    return hashlib.sha256(("".join(f"{name} {lines[name]}\n" for name in sorted(lines)) + snippet).encode()).hexdigest()


def unused_words():
    """The words that no page shows. The compiler finds those that one language lacks."""
    sources = "\n".join(path.read_text() for path in sorted((WEB / "src").rglob("*.ts*")) if path.parent.name != "words")
    unused, group = [], ""
    for line in (WEB / "src" / "words" / "en.ts").read_text().splitlines():
        if found := re.fullmatch(r"  (\w+): \{(.*)", line):
            group = found[1]
            inside = re.findall(r"(\w+): ['(]", found[2])
        else:
            inside = re.findall(r"^    (\w+): ", line)
        if f"t.{group}[" in sources or f"(t.{group} as " in sources:
            continue
        unused += [f"{group}.{word}" for word in inside if not re.search(rf"\bt\.{group}\.{word}\b", sources)]
    return unused


def main(arguments):
    if arguments not in ([], ["build"]):
        sys.exit(__doc__)
    named = re.findall(r'<html lang="en" data-sources="([0-9a-f]{64})">', (PORTAL / "pages" / "index.html").read_text())
    if named != [digest_of_sources()]:
        sys.exit("functions/portal/pages/index.html is not built from the present sources: run `make portal`.")
    if arguments and (unused := unused_words()):
        sys.exit(f"No page shows these words of functions/portal/web/src/words: {', '.join(unused)}.")
    if arguments:
        if not (WEB / "node_modules").is_dir():
            subprocess.run(["npm", "ci", "--prefix", WEB, "--no-audit", "--no-fund", "--loglevel=error"], check=True)
        sys.exit(subprocess.run(["node", WEB / "build.mjs", "--check"]).returncode)


if __name__ == "__main__":
    main(sys.argv[1:])
