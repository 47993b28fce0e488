#!/usr/bin/env python3
"""The software bill of materials of a release, in the JSON form of CycloneDX 1.5.

    deploy/sbom.py TARGET Cargo.toml [BINARY] > card-payments.cdx.json

What is built in and what builds it, as `cargo tree` says for that target, with the checksums of Cargo.lock; and beside
the crates what is no crate: the C libraries that they compile in, SQLite and on Linux jemalloc, Rust's own library, and in a
static program C's, musl. SOURCE_DATE_EPOCH is its time. The same input gives the same text.
"""

import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tomllib
import uuid

SQLITE = re.compile(r'#define SQLITE_VERSION\s+"([\d.]+)"')
# Behind the crate's own version stands that of what it holds.
JEMALLOC = re.compile(r"\+([\d.]+)-")
MUSL = re.compile(rb"\0(\d+\.\d+\.\d+)\0")


def said(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def purl(name, version):
    return f"pkg:cargo/{name}@{version.replace('+', '%2B')}"


def tree(target, manifest):
    """Every package with its licence and repository, the root first, and what each one needs."""
    packages, needs, above = {}, {}, []
    form = "{p}\t{l}\t{r}"
    lines = said(
        "cargo", "tree", "--locked", "--manifest-path", manifest, "--package", "card-payments", "--target", target,
        "--edges", "normal,build", "--prefix", "depth", "--format", form,
    )
    for line in filter(None, lines.splitlines()):
        depth, name, version, rest = re.fullmatch(r"(\d+)(\S+) v(\S+)(.*)", line).groups()
        _, licence, repository = rest.removesuffix(" (*)").split("\t")
        package = (name, version)
        packages.setdefault(package, (licence, repository))
        needs.setdefault(package, set())
        del above[int(depth):]
        if above:
            needs[above[-1]].add(package)
        above.append(package)
    return packages, needs


def component(package, about, checksum):
    (name, version), (licence, repository) = package, about
    made = {"type": "library", "bom-ref": purl(*package), "name": name, "version": version, "purl": purl(*package)}
    if checksum:
        made["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if licence:
        # Older crates say "or" with a slash.
        made["licenses"] = [{"expression": re.sub(r"\s*/\s*", " OR ", licence)}]
    if repository:
        made["externalReferences"] = [{"type": "vcs", "url": repository}]
    return made


def other(name, version, licence):
    ref = f"pkg:generic/{name}@{version}"
    licences = [{"expression": licence}] if " " in licence else [{"license": {"id": licence}}]
    return {"type": "library", "bom-ref": ref, "name": name, "version": version, "purl": ref, "licenses": licences}


def sqlite(manifest, target):
    """The version of SQLite that is compiled in, by its own header."""
    form = ("cargo", "metadata", "--locked", "--format-version", "1", "--manifest-path", manifest)
    packages = json.loads(said(*form, "--filter-platform", target))["packages"]
    path = next(it["manifest_path"] for it in packages if it["name"] == "libsqlite3-sys")
    return SQLITE.search((pathlib.Path(path).parent / "sqlite3/sqlite3.h").read_text()).group(1)


def musl(target):
    """The version of the C library that Rust brings for that target, by the library's own mark."""
    sysroot = pathlib.Path(said("rustc", "--print", "sysroot").strip())
    library = sysroot / "lib/rustlib" / target / "lib/self-contained/libc.a"
    member = subprocess.run(("ar", "p", library, "version.lo"), check=True, capture_output=True).stdout
    return MUSL.search(member).group(1).decode()


def main(target, manifest, binary=None):
    packages, needs = tree(target, manifest)
    lock = tomllib.loads((pathlib.Path(manifest).parent / "Cargo.lock").read_text())["package"]
    checksums = {(it["name"], it["version"]): it.get("checksum") for it in lock}
    root = next(iter(packages))
    crate = {name: (name, version) for name, version in packages}
    allocator, driver = crate.get("tikv-jemalloc-sys"), crate["libsqlite3-sys"]
    # Each with what needs it.
    others = [
        (root, other("rust-std", said("rustc", "--version").split()[1], "MIT OR Apache-2.0")),
        (driver, other("sqlite", sqlite(manifest, target), "blessing")),
    ]
    if allocator:
        others.append((allocator, other("jemalloc", JEMALLOC.search(allocator[1]).group(1), "BSD-2-Clause")))
    if target.endswith("-musl"):
        others.append((root, other("musl", musl(target), "MIT")))
    program = component(root, packages[root], None) | {"type": "application"}
    if binary:
        checksum = hashlib.sha256(pathlib.Path(binary).read_bytes()).hexdigest()
        program["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    dependencies = {purl(*package): sorted(purl(*it) for it in found) for package, found in needs.items()}
    for package, found in others:
        dependencies[purl(*package)].append(found["bom-ref"])
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    time = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": program},
        "components": [component(it, packages[it], checksums[it]) for it in sorted(packages) if it != root]
        + [found for _, found in others],
        "dependencies": [{"ref": ref, "dependsOn": found} for ref, found in sorted(dependencies.items())],
    }
    bill["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bill))}"
    json.dump(bill, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main(*sys.argv[1:])
