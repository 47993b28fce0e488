#!/usr/bin/env python3
"""Draws the files by which package managers install a release, from the sums of its assets: doors.py VERSION REPOSITORY FOLDER.

REPOSITORY is the address of the repository whose release will hold the files of FOLDER, https://github.com/OWNER/NAME; the
templates are those of deploy/doors. FOLDER/SHA256SUMS names the assets. A manager whose platforms the release lacks gets no file:

    FOLDER/doors/install.sh                             the installer of Linux and macOS
    FOLDER/doors/card-payments.rb                       the formula of Homebrew, for a tap
    FOLDER/doors/card-payments.json                     the manifest of scoop
    FOLDER/doors/OWNER.card-payments*.yaml              the manifests of winget
    FOLDER/doors/devcontainer-feature-card-payments.tgz the feature of dev containers
    FOLDER/doors/SHA256SUMS                             checksums of these

SOURCE_DATE_EPOCH is the time of archived files. The same input gives the same bytes.
"""

import gzip
import hashlib
import io
import os
import pathlib
import re
import sys
import tarfile

TEMPLATES = pathlib.Path(__file__).parent / "doors"
REPOSITORY = re.compile(r"https://[\w.-]+/([\w.-]+)/[\w.-]+")
VERSION = re.compile(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?")
SUM = re.compile(r"([0-9a-f]{64})  (\S+)")
# How a formula asks for a platform.
SYSTEMS = {"darwin": "macos", "linux": "linux"}
PROCESSORS = {"amd64": "intel", "arm64": "arm"}


def main(version, repository, folder):
    folder = pathlib.Path(folder)
    owner = REPOSITORY.fullmatch(repository)
    if owner is None:
        sys.exit(f"error: {repository} is no address of a repository: https://github.com/OWNER/NAME")
    if not VERSION.fullmatch(version):
        sys.exit(f"error: {version} is no version")
    archives = read_archives(folder / "SHA256SUMS")
    if not archives:
        sys.exit(f"error: {folder}/SHA256SUMS names no archive of a program")
    values = {
        "VERSION": version,
        "REPOSITORY": repository,
        "ADDRESS": f"{repository}/releases/download/v{version}",
        "OWNER": owner.group(1),
    }
    files = draw(values, archives)
    doors = folder / "doors"
    doors.mkdir(exist_ok=True)
    for old in doors.iterdir():
        old.unlink()
    files["SHA256SUMS"] = "".join(f"{checksum(data)}  {name}\n" for name, data in sorted(files.items())).encode()
    for name, data in files.items():
        path = doors / name
        path.write_bytes(data)
        path.chmod(0o755 if name.endswith(".sh") else 0o644)


def read_archives(path):
    """Returns the archives of programs by platform, each with its name and sum."""
    archives = {}
    for line in path.read_text().splitlines():
        found = SUM.fullmatch(line)
        if found is None:
            sys.exit(f"error: {path}: what is {line!r}?")
        checksum, name = found.groups()
        platform = re.fullmatch(r"card-payments-(\w+-\w+)\.(tar\.gz|zip)", name)
        if platform:
            archives[platform.group(1)] = (name, checksum)
    return archives


def draw(values, archives):
    """Returns the files by name."""
    files = {}
    unix = {platform: archive for platform, archive in archives.items() if platform.split("-")[0] in SYSTEMS}
    if unix:
        lines = "\n".join(f"{checksum}  {name}" for name, checksum in unix.values())
        files["install.sh"] = fill("install.sh", values | {"ARCHIVES": lines})
        files["card-payments.rb"] = fill("card-payments.rb", values | {"ARCHIVES": stanzas(values["ADDRESS"], unix)})
        # A dev container is a Linux machine, whatever machine is around it.
        feature = {name: fill(f"feature/{name}", values) for name in ("devcontainer-feature.json", "install.sh")}
        feature["card-payments.sh"] = files["install.sh"]
        files["devcontainer-feature-card-payments.tgz"] = archive_of(feature)
    if "windows-amd64" in archives:
        windows = values | {"SUM": archives["windows-amd64"][1]}
        files["card-payments.json"] = fill("scoop.json", windows)
        name = f"{values['OWNER']}.card-payments"
        files[f"{name}.yaml"] = fill("winget/version.yaml", windows)
        for part in ("installer", "locale.en-US"):
            files[f"{name}.{part}.yaml"] = fill(f"winget/{part}.yaml", windows)
    return files


def fill(template, values):
    """Returns a template with its values. A name without a value is an error."""
    text = re.sub(r"@([A-Z]+)@", lambda found: values[found.group(1)], (TEMPLATES / template).read_text())
    return text.encode()


def stanzas(address, archives):
    """Returns the part of a formula that says which archive each platform has."""
    lines = []
    for system, asked in SYSTEMS.items():
        own = {key: archives[f"{system}-{key}"] for key in PROCESSORS if f"{system}-{key}" in archives}
        if not own:
            continue
        lines.append(f"  on_{asked} do")
        for processor, (name, checksum) in own.items():
            lines += [f"    on_{PROCESSORS[processor]} do", f'      url "{address}/{name}"', f'      sha256 "{checksum}"', "    end"]
        lines += ["  end", ""]
    return "\n".join(lines)


def archive_of(files):
    """Returns files as a tar that is compressed."""
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    tarred, packed = io.BytesIO(), io.BytesIO()
    with tarfile.open(fileobj=tarred, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(f"./{name}")
            entry.size, entry.mtime = len(data), seconds
            entry.mode = 0o755 if name.endswith(".sh") else 0o644
            archive.addfile(entry, io.BytesIO(data))
    with gzip.GzipFile(fileobj=packed, mode="wb", filename="", mtime=seconds) as compressed:
        compressed.write(tarred.getvalue())
    return packed.getvalue()


def checksum(data):
    return hashlib.sha256(data).hexdigest()


if __name__ == "__main__":
    main(*sys.argv[1:])
