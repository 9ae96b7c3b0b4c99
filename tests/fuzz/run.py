"""Fuzzes what strangers send (`make fuzz`): builds the targets with libFuzzer and runs each of them.

    run.py [TARGET ...]    all targets, or these; MINUTES=5 runs each for five minutes instead of one
    run.py planted         proves that coverage guides the engine: it must find a planted crash behind comparisons

New inputs are kept in a folder beside the build, so the next run begins with them. An input that fails is kept, too, and
its command is printed. Its rule gets a test in its own package.
"""

import os
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent
ENGINE = HERE / "engine"
TARGETS = sorted(path.stem for path in (ENGINE / "src" / "bin").glob("*.rs") if path.stem != "planted")
FOLDER = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parents[1] / "target")).absolute() / "fuzz"
# The longest input. Longer ones find little and are slow.
LONGEST = {"api": 4096, "management": 4096, "provider_webhooks": 4096, "imports": 1024, "leads": 2048, "bodies": 1024}
# Coverage of the compiler's own back end, which stable Rust has. Without the last two options it merges comparisons, and
# the engine does not see how far an input came.
COVERAGE = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cllvm-args=-simplifycfg-branch-fold-threshold=0",
    "-Cllvm-args=-max-loads-per-memcmp=0",
]


def main():
    wanted = sys.argv[1:] or TARGETS
    if unknown := set(wanted) - {*TARGETS, "planted"}:
        sys.exit(f"unknown target: {', '.join(sorted(unknown))}. Targets: {', '.join(TARGETS)}")
    minutes = float(os.environ.get("MINUTES") or 1)
    programs = build(wanted)
    if wanted == ["planted"]:
        return planted(programs / "planted")
    print(f"{'target':20} {'executions':>12} {'a second':>10} {'coverage':>9} {'of it new':>9} {'new inputs':>10}")
    ran = [run(target, programs / target, minutes) for target in wanted]
    print(f"{'all':20} {sum(executions for executions, _ in ran):12,}")
    if failed := [command for _, command in ran if command]:
        sys.exit("\nInputs that fail, each with the command that repeats it:\n  " + "\n  ".join(failed))


def build(targets):
    """Builds the programs of the targets. Returns their folder."""
    host = re.search(r"host: (\S+)", subprocess.check_output(["rustc", "-vV"], text=True)).group(1)
    # With --target, the flags apply to the targets alone, and not to build scripts.
    command = ["cargo", "build", "--release", "--locked", "--target", host, "--target-dir", str(FOLDER)]
    command += [part for target in targets for part in ("--bin", target)]
    subprocess.run(command, cwd=ENGINE, check=True, env=os.environ | {"RUSTFLAGS": " ".join(COVERAGE)})
    return FOLDER / host / "release"


def run(target, program, minutes):
    """Runs a target. Returns the number of executions, and the command that repeats a failure."""
    kept, crashes = FOLDER / "corpus" / target, FOLDER / "crashes" / target
    for folder in (kept, crashes):
        folder.mkdir(parents=True, exist_ok=True)
    before = set(crashes.iterdir())
    dictionary = HERE / "dictionaries" / f"{target}.dict"
    command = [program, kept, HERE / "corpus" / target, f"-max_total_time={minutes * 60:.0f}"]
    command += [f"-max_len={LONGEST.get(target, 256)}", "-use_value_profile=1", "-print_final_stats=1"]
    command += [f"-artifact_prefix={crashes}/", "-timeout=20", "-rss_limit_mb=4096", "-len_control=20"]
    command += [f"-dict={dictionary}"] if dictionary.exists() else []
    with open(FOLDER / f"{target}.log", "w") as log:
        subprocess.run([str(part) for part in command], cwd=HERE.parents[1], stdout=log, stderr=subprocess.STDOUT)
    text = (FOLDER / f"{target}.log").read_text(errors="replace")
    reached = [int(cover) for cover in re.findall(r"^#\d+\s+\S+\s+cov: (\d+)", text, re.M)]
    first = re.search(r"^#\d+\s+INITED cov: (\d+)", text, re.M)
    counted = re.findall(r"^(?:#|stat::number_of_executed_units: )(\d+)", text, re.M)
    executions, new = int(counted[-1]) if counted else 0, re.search(r"new_units_added: +(\d+)", text)
    last, began = (reached or [0])[-1], int(first.group(1)) if first else 0
    speed = executions / (minutes * 60)
    print(f"{target:20} {executions:12,} {speed:10,.0f} {last:9,} {last - began:9,} {new.group(1) if new else '-':>10}", flush=True)
    failed = sorted(set(crashes.iterdir()) - before)
    if failed:
        return executions, f"{program} {failed[0]}"
    if "stat::number_of_executed_units" not in text:
        return executions, f"(see {FOLDER / target}.log)"
    return executions, None


def planted(program):
    began = time.monotonic()
    command = [program, "-use_value_profile=1", "-max_total_time=300", f"-artifact_prefix={FOLDER}/"]
    ran = subprocess.run([str(part) for part in command], capture_output=True, text=True, errors="replace")
    found = "planted" in ran.stderr and ran.returncode != 0
    executions = re.findall(r"^#(\d+)", ran.stderr, re.M)
    spent = time.monotonic() - began
    if not found:
        sys.exit(f"The engine did not find the planted crash in {spent:.0f} seconds: coverage does not guide it.")
    print(f"The engine found the planted crash after {spent:.0f} seconds and more than {int(executions[-1]):,} executions.")


if __name__ == "__main__":
    main()
