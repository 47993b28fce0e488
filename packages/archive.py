#!/usr/bin/env python3
"""Writes files as one archive: archive.py FOLDER NAME FILE..., NAME.zip if the first is a program of Windows, NAME.tar.gz otherwise.
SOURCE_DATE_EPOCH is their time, COMPRESSION is 1 for the quickest to 9 for the smallest, the default. The same input gives the same
bytes."""

import gzip
import os
import pathlib
import sys
import tarfile
import time
import zipfile

LEVEL = int(os.environ.get("COMPRESSION", "9"))
SECONDS = int(os.environ["SOURCE_DATE_EPOCH"])


def main(folder, name, *files):
    files = [pathlib.Path(file) for file in files]
    if files[0].suffix == ".exe":
        write_zip(pathlib.Path(folder) / f"{name}.zip", files)
    else:
        write_tar(pathlib.Path(folder) / f"{name}.tar.gz", files)


def mode(file):
    return 0o755 if os.access(file, os.X_OK) else 0o644


def write_tar(path, files):
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", LEVEL, raw, SECONDS) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for file in files:
                entry = tarfile.TarInfo(file.name)
                entry.size, entry.mtime, entry.mode = file.stat().st_size, SECONDS, mode(file)
                with open(file, "rb") as content:
                    archive.addfile(entry, content)


def write_zip(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for file in files:
            entry = zipfile.ZipInfo(file.name, time.gmtime(SECONDS)[:6])
            entry.external_attr = (0o100000 | mode(file)) << 16
            archive.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED, LEVEL)


if __name__ == "__main__":
    main(*sys.argv[1:])
