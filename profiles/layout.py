"""Lists the code that the functions execute, for the linker (`make layout`): profiles/executed.txt.

It builds all functions as they are shipped, lets the measuring program send them the requests of `make bench` under callgrind, and
writes the names of all code that ran, one per line. Names that the same functions execute are together, first those that most
functions execute. `options.sh` makes a script for the linker of them. A name has `*` where the compiler writes a number that
depends on the processor, the version of a crate or the settings of the build, or a position that depends on such a number's length.
"""

import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

from record import FOLDER, MACHINES, ROOT, train

# In a name: the number of a crate, and the position of an earlier part of the name.
CRATE = "(Cs)[0-9A-Za-z]{1,11}_"
POSITION = "(B)[0-9A-Za-z]{0,3}_"
LIST = ROOT / "profiles" / "executed.txt"


def main():
    if not shutil.which("valgrind"):
        return "valgrind is missing (Debian: apt-get install valgrind)"
    ran = FOLDER / "ran"
    shutil.rmtree(ran, ignore_errors=True)
    ran.mkdir(parents=True)
    # `%p` is the number of the process.
    train(build(), ["valgrind", "--quiet", "--tool=callgrind", "--demangle=no", f"--callgrind-out-file={ran}/%p"])
    lines = ordered([executed(path.read_text()) for path in sorted(ran.iterdir())])
    LIST.write_text("".join(f"{line}\n" for line in lines))
    print(f"{LIST.relative_to(ROOT)}: {len(lines)} names")


def build():
    """Builds all functions as `make bench` does, with the names of their code. Returns their folder."""
    machine = platform.machine()
    [architecture] = [name for name, known in MACHINES.items() if known == machine]
    options = subprocess.check_output(["sh", ROOT / "profiles" / "options.sh", architecture], cwd=ROOT, text=True).strip()
    functions = sorted(path.name for path in (ROOT / "functions").iterdir())
    print(f"=== {len(functions)} functions, as they are shipped", flush=True)
    target = f"{machine}-unknown-linux-gnu"
    command = ["cargo", "build", "--quiet", "--locked", "--release", "--target", target]
    command += [part for function in functions for part in ("--package", function)]
    subprocess.run(command, cwd=ROOT, check=True, env=os.environ | {"RUSTFLAGS": f"{options} -Cstrip=none"})
    return FOLDER.parent / target / "release"


def executed(counts):
    """The program of a file of callgrind, and the names of the code in this program that ran."""
    program = re.search(r"^cmd: +(\S+)", counts, re.MULTILINE).group(1)
    files, symbols, names = {}, {}, set()
    is_ours = False
    # `ob=(1) /path` and `fn=(2) name` say where the lines after them belong. `cob` and `cfn` name what these lines call. The path
    # or the name is only in the first line with its number.
    for kind, number, value in re.findall(r"^(c?ob|c?fn)=\((\d+)\)(?: (.+))?$", counts, re.MULTILINE):
        known = files if kind.endswith("ob") else symbols
        if value:
            known[number] = value
        if kind == "ob":
            is_ours = known[number] == program
        elif kind == "fn" and is_ours:
            # callgrind numbers the calls of a function by itself.
            names.add(re.sub(r"'\d+$", "", known[number]))
    # The others are code without a name of its own: addresses, and what callgrind calls "(below main)".
    return pathlib.Path(program).name, {name for name in names if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.$]*", name)}


def ordered(runs):
    """The patterns of all names, in the order of the list."""
    programs = {}
    for program, names in runs:
        for name in names:
            programs.setdefault(pattern(name), set()).add(program)
    return sorted(programs, key=lambda line: (-len(programs[line]), sorted(programs[line]), line))


def pattern(name):
    """The name as the linker finds it in any build."""
    if name.startswith("_R"):
        return re.sub(f"{CRATE}|{POSITION}", r"\1\2*_", without_end(name)) + "*"
    # The names of C code in ring begin with its version.
    return re.sub(r"^ring_core_\d+_\d+_\d+__", "ring_core_*__", name)


def without_end(name):
    """The name without what can follow it: the crate that compiled generic code, and numbers of LLVM."""
    name = re.sub(r"(\.\d+|\.llvm\.\d+)$", "", name)
    # A crate is its number, the length of its name and its name, or the position of them. A path has more behind its crate.
    last = re.match(rf"(?P<path>.*)(?:{CRATE}(?P<length>\d+)_?(?P<crate>\w+)|{POSITION})$", name)
    is_crate = last and (last["crate"] is None or len(last["crate"]) == int(last["length"]))
    return last["path"] if is_crate else name


if __name__ == "__main__":
    sys.exit(main())
