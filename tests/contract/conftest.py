"""The clients that five generators make from openapi.yaml, with the programs in clients/ that use them."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PROGRAMS = ROOT / "tests" / "contract" / "clients"
NODE = PROGRAMS / "node_modules"
# The programs of Python packages are beside Python itself. Redocly neither reports its use nor looks for a newer version.
ENVIRONMENT = os.environ | {
    "PATH": f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    "REDOCLY_TELEMETRY": "off",
    "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true",
}


def run(command, folder, **more):
    """What a program printed. Fails if the program fails."""
    done = subprocess.run(
        command, cwd=folder, env=ENVIRONMENT | more, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="session")
def clients(tmp_path_factory):
    """A folder with the clients: `messaging_client` (openapi-python-client), `openapi_typescript.ts`, `hey`, `oazapfts.mts`
    and `orval.ts`."""
    assert NODE.is_dir(), f"{NODE} is missing. `make test` installs it."
    folder = tmp_path_factory.mktemp("clients")
    for program in PROGRAMS.iterdir():
        if program.suffix in (".py", ".ts", ".ini") or program.name == "tsconfig.json":
            shutil.copy(program, folder)
    (folder / "node_modules").symlink_to(NODE)
    api = str(ROOT / "openapi.yaml")
    python = ["openapi-python-client", "generate", "--path", api, "--output-path", "messaging_client", "--meta", "none"]
    run([*python, "--fail-on-warning"], folder)
    run([NODE / ".bin" / "openapi-typescript", api, "--output", "openapi_typescript.ts"], folder)
    run([NODE / ".bin" / "openapi-ts", "--input", api, "--output", "hey", "--client", "@hey-api/client-fetch"], folder)
    run([NODE / ".bin" / "oazapfts", api, "oazapfts.mts"], folder)
    run([NODE / ".bin" / "orval", "--input", api, "--output", "orval.ts", "--client", "fetch"], folder)
    return folder
