"""tests/machine/check.sh on machines that lack programs: it names all of them at once. As root on Debian it installs them."""

import pathlib
import re
import shutil
import subprocess

import pytest

CHECK = pathlib.Path(__file__).with_name("check.sh")
PROGRAMS = {
    "run": {"make", "cc", "strip", "python3", "cargo"},
}
PROGRAMS["containers"] = PROGRAMS["run"] | {"podman", "runc"}
PROGRAMS["fuzz"] = PROGRAMS["run"] | {"c++"}
PROGRAMS["test"] = PROGRAMS["run"] | {"curl", "node", "npm", "php", "ruby", "chromium"}
PACKAGES = {
    "cc": "gcc libc6-dev",
    "c++": "g++",
    "strip": "binutils",
    "python3": "python3 python3-venv",
    "node": "nodejs",
    "php": "php-cli",
}
# The program that each package installs on this machine.
INSTALLS = {PACKAGES.get(program, program).split()[0]: program for program in PROGRAMS["test"] | PROGRAMS["containers"]} | {"python3-venv": "venv"}


class Machine:
    """A folder that is the whole PATH. Its programs are stubs that only exit with a status."""

    def __init__(self, folder, programs=PROGRAMS["test"], user=1000):
        self.folder = folder
        folder.mkdir()
        self.installed = folder.parent / "apt-get.txt"
        for program in programs:
            self.add(program)
        self.add("id", f"echo {user}")
        # The stub of apt-get needs it.
        (folder / "chmod").symlink_to(shutil.which("chmod"))

    def add(self, program, script="exit 0"):
        path = self.folder / program
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return self

    def with_apt_get(self, installs=INSTALLS):
        """Adds a stub of apt-get that records its calls and puts the programs of the packages into the folder."""
        cases = "\n".join(
            f"{package}) printf '#!/bin/sh\\nexit 0\\n' > {self.folder}/{program}; chmod 755 {self.folder}/{program} ;;"
            for package, program in installs.items()
        )
        return self.add(
            "apt-get",
            f'echo "$DEBIAN_FRONTEND: $*" >> {self.installed}\nfor word; do case $word in\n{cases}\nesac; done',
        )

    def check(self, share, **environment):
        environment = {"PATH": str(self.folder), "HOME": str(self.folder.parent)} | environment
        # Debian keeps runc in /usr/sbin, and this machine may have it there.
        script = CHECK.read_text().replace("/usr/sbin", str(self.folder.parent / "sbin"))
        command = ["/bin/sh", "-c", script, "check.sh", share]
        return subprocess.run(command, env=environment, capture_output=True, text=True)


@pytest.fixture
def machine(tmp_path):
    return lambda *arguments, **options: Machine(tmp_path / "bin", *arguments, **options)


@pytest.mark.parametrize("share", PROGRAMS)
def test_nothing_is_printed_if_nothing_is_missing(machine, share):
    ran = machine(PROGRAMS[share], user=0).check(share)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_make_run_needs_no_browser_and_no_receivers(machine):
    missing = machine(set()).check("run").stderr
    assert packages(missing) == "make gcc libc6-dev binutils python3 python3-venv"


def test_only_fuzzing_needs_a_c_plus_plus_compiler(machine):
    ran = machine(PROGRAMS["run"]).check("fuzz")
    assert (ran.returncode, packages(ran.stderr)) == (1, "g++")


def test_everything_missing_is_in_one_line_with_advice_for_rust(machine):
    ran = machine(set()).check("test")
    assert ran.returncode == 1
    assert packages(ran.stderr) == (
        "make gcc libc6-dev binutils python3 python3-venv nodejs npm php-cli ruby curl chromium"
    )
    assert "install Rust with rustup (https://rustup.rs)" in ran.stderr


@pytest.mark.parametrize("program", sorted(PROGRAMS["test"] - {"cargo"}))
def test_a_missing_program_is_named_by_its_package(machine, program):
    ran = machine(PROGRAMS["test"] - {program}).with_apt_get().check("test")
    assert ran.returncode == 1
    assert packages(ran.stderr) == PACKAGES.get(program, program)


def test_apt_get_is_not_called_for_cargo(machine):
    bare = machine(PROGRAMS["test"] - {"cargo"}, user=0).with_apt_get()
    ran = bare.check("test")
    assert ran.returncode == 1 and "cargo is missing" in ran.stderr and "apt-get" not in ran.stderr
    assert not bare.installed.exists()


def test_a_rustup_that_is_not_on_the_path_is_reported(machine, tmp_path):
    bare = machine(PROGRAMS["test"] - {"cargo"})
    (tmp_path / ".cargo" / "bin").mkdir(parents=True)
    shutil.copy(bare.folder / "make", tmp_path / ".cargo" / "bin" / "cargo")
    assert ". ~/.cargo/env" in bare.check("run").stderr


def test_root_on_debian_gets_the_list_and_the_installation(machine):
    bare = machine({"cargo"}, user=0).with_apt_get()
    ran = bare.check("test")
    assert ran.returncode == 0, ran.stderr
    wanted = "make gcc libc6-dev binutils python3 python3-venv nodejs npm php-cli ruby curl chromium"
    assert ran.stderr == f"This machine lacks programs. Installing with apt-get: {wanted}\n"
    assert bare.installed.read_text().splitlines() == [
        "noninteractive: --quiet update",
        f"noninteractive: --quiet install --yes --no-install-recommends {wanted}",
    ]
    assert bare.check("test").stderr == ""


def test_what_apt_get_did_not_install_is_named(machine):
    ran = machine(PROGRAMS["test"] - {"php", "npm"}, user=0).with_apt_get({"npm": "npm"}).check("test")
    assert ran.returncode == 1
    assert packages(ran.stderr) == "php-cli"


def test_a_failure_of_apt_get_ends_the_check(machine):
    ran = machine(PROGRAMS["test"] - {"php"}, user=0).add("apt-get", "echo no network >&2; exit 100").check("test")
    assert ran.returncode == 1
    assert ran.stderr.endswith("no network\napt-get failed. The reasons are above.\n")


def test_root_without_apt_get_gets_the_command_to_paste(machine):
    assert packages(machine(PROGRAMS["test"] - {"ruby"}, user=0).check("test").stderr) == "ruby"


@pytest.mark.parametrize(
    "program, question, version",
    [
        ("python3", "sys.version_info", "Python 3.11"),
        ("node", "process.versions.node", "Node.js 18"),
        ("php", "PHP_VERSION_ID", "PHP 8.0"),
        ("ruby", "RUBY_VERSION", "Ruby 3.0"),
    ],
)
def test_a_program_that_is_too_old_is_named_with_the_version_it_needs(machine, program, question, version):
    old = machine(user=0).with_apt_get().add(program, f'case "$*" in *{question}*) exit 1 ;; esac')
    ran = old.check("test")
    assert ran.returncode == 1
    assert ran.stderr == f"{program} is too old: install {version} or later.\n"
    assert not old.installed.exists()


def test_the_questions_for_a_version_are_answered_by_the_real_programs():
    real = [program for program in ("python3", "node", "php", "ruby") if shutil.which(program)]
    versions = re.findall(r"^ +recent (\w+) '[^']*' (-\w) '([^']*)'$", CHECK.read_text(), re.M)
    assert [program for program, _, _ in versions] == ["python3", "node", "php", "ruby"]
    for program, option, question in versions:
        later = re.sub(r"3, 11|18|80000|3$", "99, 0" if program == "python3" else "990000", question)
        for asked, status in ((question, 0), (later, 1)):
            if program in real:
                assert subprocess.run([program, option, asked]).returncode == status, asked


def test_a_python_that_makes_no_virtual_environments_lacks_its_package(machine):
    bare = machine().add("python3", 'case "$*" in *ensurepip*) exit 1 ;; esac')
    assert packages(bare.check("run").stderr) == "python3-venv"


def test_docker_replaces_podman(machine):
    assert machine(PROGRAMS["run"] | {"docker"}).check("containers").returncode == 0


def test_a_docker_that_does_not_answer_counts_as_missing(machine):
    docker = machine(PROGRAMS["run"]).add("docker", "exit 1")
    assert packages(docker.check("containers").stderr) == "podman runc"


def test_a_user_other_than_root_gets_an_early_note_that_sam_local_needs_root_or_docker(machine):
    ran = machine(PROGRAMS["containers"]).check("containers")
    assert ran.returncode == 0
    assert ran.stderr == "Note: without Docker, `sam local` runs as root only.\n"


def test_the_browser_is_found_by_name_or_by_the_variable(machine, tmp_path):
    one = machine({"google-chrome"})
    assert one.check("chromium").stdout == f"{one.folder}/google-chrome\n"
    assert one.check("chromium", CHROMIUM="/opt/browser").stdout == "/opt/browser\n"


def test_an_unknown_share_is_refused(machine):
    assert machine().check("everything").returncode == 2


def packages(message):
    """The packages of the command to paste."""
    lines = [line for line in message.splitlines() if "apt-get install" in line]
    assert len(lines) == 1 and "On Debian, run as root:" in message, message
    return lines[0].strip().removeprefix("apt-get install ")
