#!/usr/bin/env python3
"""Compares the table of docs/install.md with the doors that packages/test.sh went through: doors.py FILE, with name, beginning, end and
bytes of each. With UPDATE_DOCUMENTS it writes seconds and sizes into the table."""

import os
import pathlib
import sys

PAGE = pathlib.Path(__file__).parent / "../docs/install.md"


def main(file):
    tried = dict(line.split("\t", 1) for line in pathlib.Path(file).read_text().splitlines())
    lines = PAGE.read_text().splitlines()
    begin = next(at for at, line in enumerate(lines) if line.startswith("| door |")) + 2
    end = next(at for at in range(begin, len(lines)) if not lines[at].startswith("|"))
    shown = [line.strip("| ").split(" | ") for line in lines[begin:end]]
    if {door for door, *_ in shown} != set(tried):
        sys.exit(f"docs/install.md shows {[door for door, *_ in shown]}, but {sorted(tried)} were tried")
    if "UPDATE_DOCUMENTS" in os.environ:
        lines[begin:end] = [row(door, command, *tried[door].split("\t")) for door, command, *_ in shown]
        PAGE.write_text("\n".join(lines) + "\n")


def row(door, command, begun, ended, size):
    return f"| {door} | {command} | {float(ended) - float(begun):.1f} | {int(size) / 1e6:.0f} MB |"


if __name__ == "__main__":
    main(*sys.argv[1:])
