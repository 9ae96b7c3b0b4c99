"""Makes the files of a release from what `make build` built: .venv/bin/python .ci/release.py

For each processor it makes a folder and an archive of it, with everything that `sam deploy` needs and no source code: a zip of
each function, the template that refers to them, and the settings of the stages. Beside them are a bill of materials
(CycloneDX) and the checksums of all files. The same sources and compiler give the same bytes.
"""

import argparse
import gzip
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import tarfile
import tomllib
import uuid
import zipfile

from samcli.yamlhelper import yaml_dump, yaml_parse

ROOT = pathlib.Path(__file__).parents[1]
TARGETS = {"arm64": "aarch64-unknown-linux-gnu", "x86_64": "x86_64-unknown-linux-gnu"}
# The earliest moment that a zip can hold. A file's date would make each build differ.
ZIP_DATE = (1980, 1, 1, 0, 0, 0)
BESIDE = ("LICENSE", "docs/deployer-policy.yaml", "docs/deployment.md")
NAME = "messaging-integrations"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--built", type=pathlib.Path, default=ROOT / ".aws-sam", help="what `make build` wrote")
    parser.add_argument("--into", type=pathlib.Path, default=ROOT / "release")
    options = parser.parse_args()
    made = release(options.built, options.into, version(), last_change())
    print(f"Made {made}: {', '.join(sorted(path.name for path in made.iterdir()))}")


def version():
    return tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]


def last_change():
    """The moment of the commit that is built."""
    command = ["git", "-C", ROOT, "log", "-1", "--format=%cd", "--date=format-local:%Y-%m-%dT%H:%M:%SZ"]
    return subprocess.run(command, env={"TZ": "UTC", "PATH": "/usr/bin:/bin"}, check=True, capture_output=True, text=True).stdout.strip()


def release(built, into, version, moment):
    folder = into / f"{NAME}-{version}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for processor in TARGETS:
        content = folder / f"{NAME}-{version}-{processor}"
        deployable(built / processor, content, processor)
        archive(content)
    (folder / "sbom.cdx.json").write_text(json.dumps(bill_of_materials(version, moment), indent=2) + "\n")
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}\n" for path in files]
    (folder / "SHA256SUMS").write_text("".join(sums))
    return folder


# --- What is deployed ----------------------------------------------------------------------------------------------


def deployable(built, into, processor):
    """The template with a zip for each function, and the files beside it."""
    template = yaml_parse((built / "template.yaml").read_text())
    (into / "functions").mkdir(parents=True)
    for resource in template["Resources"].values():
        if resource["Type"] != "AWS::Serverless::Function":
            continue
        properties = resource["Properties"]
        name = properties["FunctionName"]["Fn::Sub"].removeprefix("${AWS::StackName}-")
        zip_of(built / properties["CodeUri"] / "bootstrap", into / "functions" / f"{name}.zip")
        properties["CodeUri"] = f"functions/{name}.zip"
        resource.pop("Metadata", None)  # it says how to build
    template["Parameters"]["Architecture"] |= {"Default": processor, "AllowedValues": [processor]}
    (into / "template.yaml").write_text(yaml_dump(template))
    settings = (ROOT / "samconfig.toml").read_text()
    (into / "samconfig.toml").write_text(re.sub(r'"Architecture=\w+"', f'"Architecture={processor}"', settings))
    for path in BESIDE:
        shutil.copy(ROOT / path, into)


def zip_of(program, into):
    with zipfile.ZipFile(into, "w") as file:
        entry = zipfile.ZipInfo("bootstrap", ZIP_DATE)
        entry.create_system, entry.external_attr = 3, 0o100755 << 16  # an executable file of Unix
        file.writestr(entry, program.read_bytes(), zipfile.ZIP_DEFLATED, 9)


def archive(folder):
    def plain(entry):
        entry.mtime = entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mode = 0o755 if entry.isdir() else 0o644
        return entry

    with open(f"{folder}.tar.gz", "wb") as raw, gzip.GzipFile("", "wb", 9, raw, 0) as packed:
        with tarfile.open(fileobj=packed, mode="w") as file:
            for path in sorted(folder.rglob("*")):
                file.add(path, f"{folder.name}/{path.relative_to(folder)}", recursive=False, filter=plain)


# --- The bill of materials -----------------------------------------------------------------------------------------


def bill_of_materials(version, moment):
    """What is compiled into the functions, as CycloneDX 1.6."""
    packages, uses = shipped()
    checksums = {
        (package["name"], package["version"]): package.get("checksum")
        for package in tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    }
    own = f"pkg:github/{NAME}@{version}"
    refs = {id: reference(package) for id, package in packages.items()}
    components = [component(package, checksums[package["name"], package["version"]]) for package in packages.values()]
    dependencies = [{"ref": refs[id], "dependsOn": sorted(refs[used] for used in uses[id])} for id in packages]
    functions = sorted(refs[id] for id, package in packages.items() if is_function(package))
    dependencies.append({"ref": own, "dependsOn": functions})
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": moment,
            "component": {"type": "application", "bom-ref": own, "name": NAME, "version": version},
        },
        "components": sorted(components, key=lambda one: one["bom-ref"]),
        "dependencies": sorted(dependencies, key=lambda one: one["ref"]),
    }
    return bill | {"serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bill))}"}


def shipped():
    """The packages that are compiled into functions for any processor, by id, and which of them each one uses."""
    packages, uses = {}, {}
    for target in TARGETS.values():
        command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target]
        metadata = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)
        known = {package["id"]: package for package in metadata["packages"]}
        nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
        left = [id for id in metadata["workspace_members"] if is_function(known[id])]
        while left:
            id = left.pop()
            used = {
                dependency["pkg"]
                for dependency in nodes[id]["deps"]
                if any(kind["kind"] is None for kind in dependency["dep_kinds"])  # neither for tests nor for build scripts
            }
            left.extend(used - uses.get(id, set()))
            packages[id] = known[id]
            uses.setdefault(id, set()).update(used)
    return packages, uses


def is_function(package):
    return pathlib.Path(package["manifest_path"]).parent.parent == ROOT / "functions"


def reference(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package, checksum):
    said = {
        "type": "library",
        "bom-ref": reference(package),
        "name": package["name"],
        "version": package["version"],
        "purl": reference(package),
        "licenses": [{"expression": (package["license"] or "NOASSERTION").replace("/", " OR ")}],
    }
    if checksum:
        said["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if package["repository"]:
        said["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return said


if __name__ == "__main__":
    main()
