#!/usr/bin/env python3
"""Writes the wheel of one platform: wheel.py VERSION PROGRAM TAG FOLDER. The same input gives the same bytes."""

import base64
import hashlib
import os
import pathlib
import sys
import tomllib
import zipfile

HERE = pathlib.Path(__file__).parent
# The address of the repository, if there is one.
REPOSITORY = os.environ.get("RELEASE_REPOSITORY")


def main(version, program, tag, folder):
    program = pathlib.Path(program)
    project = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    name = project["name"].replace("-", "_")
    info = f"{name}-{version}.dist-info"
    plugins = "".join(f"{key} = {value}\n" for key, value in project["entry-points"]["pytest11"].items())
    metadata = {
        "Metadata-Version": "2.4",
        "Name": project["name"],
        "Version": version,
        "Summary": project["description"],
        "License-Expression": project["license"],
        "License-File": "LICENSE",
        "Keywords": ",".join(project["keywords"]),
        "Requires-Python": project["requires-python"],
        **({"Project-URL": f"Source, {REPOSITORY}"} if REPOSITORY else {}),
        "Description-Content-Type": "text/markdown",
    }
    metadata = "".join(f"{field}: {value}\n" for field, value in metadata.items())
    metadata += "".join(f"Classifier: {classifier}\n" for classifier in project["classifiers"])
    wheel = ["Wheel-Version: 1.0", "Generator: wheel.py", "Root-Is-Purelib: false"]
    python, abi, platforms = tag.split("-")
    wheel += [f"Tag: {python}-{abi}-{platform}" for platform in platforms.split(".")]
    files = {f"{module.relative_to(HERE)}": module.read_bytes() for module in sorted(HERE.glob("card_payments/*.py"))}
    files |= {
        f"{name}-{version}.data/scripts/{program.name}": program.read_bytes(),
        f"{info}/METADATA": f"{metadata}\n{(HERE / project['readme']).read_text()}".encode(),
        f"{info}/WHEEL": ("\n".join(wheel) + "\n").encode(),
        f"{info}/entry_points.txt": f"[pytest11]\n{plugins}".encode(),
        f"{info}/licenses/LICENSE": (HERE / "../../LICENSE").read_bytes(),
    }
    record = "".join(f"{path},sha256={checksum(data)},{len(data)}\n" for path, data in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    path = pathlib.Path(folder) / f"{name}-{version}-{tag}.whl"
    level = int(os.environ.get("COMPRESSION", "9"))
    with zipfile.ZipFile(path, "w") as archive:
        for file, data in files.items():
            entry = zipfile.ZipInfo(file)
            entry.external_attr = (0o100755 if "/scripts/" in file else 0o100644) << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED, level)


def checksum(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")


if __name__ == "__main__":
    main(*sys.argv[1:])
