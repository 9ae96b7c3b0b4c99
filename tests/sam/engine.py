"""A container engine for `sam local` on a machine without Docker: podman, and a base image made of this machine's files.

    engine.py            starts the engine, prints how to use it, and runs until Ctrl-C

AWS's base images come from a registry and have hundreds of megabytes. Each function is one binary that needs only the C
library. So this image has the C library, a shell and the few tools with which SAM adds its runtime emulator: 5 MB, made
in a second. With Docker, none of this is needed.
"""

import contextlib
import hashlib
import io
import os
import pathlib
import platform
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

ROOT = pathlib.Path(__file__).parents[2]
ARCHITECTURE = {"x86_64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine()]
BASE_IMAGE = f"public.ecr.aws/lambda/provided:al2023-{ARCHITECTURE}"

TOOLS = ["/bin/sh", "/bin/mv", "/bin/chmod"]
LIBRARIES = ["libc.so.6", "libdl.so.2", "libgcc_s.so.1", "libm.so.6", "libpthread.so.0", "librt.so.1"]
BOOTSTRAP = b"#!/bin/sh\nexec /var/task/bootstrap\n"

CONTAINERS_CONF = """\
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[containers]
default_ulimits = ["nofile=20000:20000", "nproc=1024:1024"]
"""


class NoEngine(Exception):
    """The reason why containers cannot run on this machine, and what to do about it."""


@contextlib.contextmanager
def running():
    """Runs an engine until the block ends. Yields the environment and the options for `sam local`."""
    if docker_answers():
        yield {}, []
        return
    check_podman()
    folder = ROOT / ".local" / "podman"
    folder.mkdir(parents=True, exist_ok=True)
    conf = folder / "containers.conf"
    conf.write_text(CONTAINERS_CONF)
    image = base_image()
    # Each base image has its own store. Otherwise SAM would keep using images built on an earlier base image.
    store = folder / hashlib.sha256(image).hexdigest()[:12]
    # Podman expects a store's state at the same path as before, and paths of sockets must be short.
    run = pathlib.Path("/run") / f"sam-local-{hashlib.sha256(bytes(store)).hexdigest()[:12]}"
    run.mkdir(mode=0o700, exist_ok=True)
    podman = ["podman", "--root", str(store), "--runroot", str(run), "--tmpdir", str(run)]
    environment = os.environ | {"CONTAINERS_CONF": str(conf)}
    if subprocess.run([*podman, "image", "exists", BASE_IMAGE], env=environment).returncode != 0:
        command = [*podman, "import", "--quiet", "-", BASE_IMAGE]
        subprocess.run(command, env=environment, input=image, check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory(prefix="podman-") as short:
        socket = f"{short}/podman.sock"
        service = subprocess.Popen([*podman, "system", "service", "--time=0", f"unix://{socket}"], env=environment)
        try:
            wait_for(lambda: os.path.exists(socket) or service.poll() is not None)
            if service.poll() is not None:
                raise NoEngine(f"`podman system service` exited immediately with status {service.returncode}.")
            yield {"DOCKER_HOST": f"unix://{socket}"}, ["--skip-pull-image"]
        finally:
            subprocess.run([*podman, "rm", "--all", "--force"], env=environment, stdout=subprocess.DEVNULL)
            service.terminate()
            service.wait()


def docker_answers():
    if not shutil.which("docker"):
        return False
    try:
        return subprocess.run(["docker", "info"], capture_output=True, timeout=20).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def check_podman():
    ran = subprocess.run(["sh", ROOT / "tests" / "machine" / "check.sh", "containers"], capture_output=True, text=True)
    if ran.returncode != 0:
        raise NoEngine(f"`sam local` needs containers: start Docker, or install podman.\n{ran.stderr.strip()}")
    if os.geteuid() != 0:
        raise NoEngine("This script runs podman as root only: run it with sudo, or start Docker.")


def base_image():
    """The file system of the base image as a reproducible tar archive."""
    files = {}
    for tool in TOOLS:
        files[f"bin/{os.path.basename(tool)}"] = pathlib.Path(tool).read_bytes()
        needed = subprocess.run(["ldd", tool], check=True, capture_output=True, text=True).stdout
        for library in re.findall(r"(/\S+) \(0x", needed):
            files[library.lstrip("/")] = pathlib.Path(library).read_bytes()
    beside = pathlib.Path(next(name for name in files if name.endswith("/libc.so.6"))).parent
    for library in LIBRARIES:
        files[f"{beside}/{library}"] = (pathlib.Path("/") / beside / library).read_bytes()
    files["var/runtime/bootstrap"] = BOOTSTRAP
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for folder in ["opt", "tmp", "var/task"]:
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            tar.addfile(entry)
        for name in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(files[name]), 0o755
            tar.addfile(entry, io.BytesIO(files[name]))
    return archive.getvalue()


def wait_for(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise NoEngine(f"The container engine did not start within {seconds} s.")
        time.sleep(0.05)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with contextlib.suppress(KeyboardInterrupt):
        with running() as (environment, options):
            if not environment:
                print("Docker is running: `sam local` works without this engine.")
                return
            print("In another terminal:")
            for name, value in environment.items():
                print(f"  export {name}={value}")
            print(f"  sam local invoke UsersFunction --event events/users-get.json {' '.join(options)}")
            print("Ctrl-C ends the engine.", flush=True)
            signal.pause()


if __name__ == "__main__":
    try:
        main()
    except NoEngine as reason:
        sys.exit(str(reason))
