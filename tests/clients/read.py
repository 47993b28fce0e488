"""Reads C# where no compiler is to be had: every file must be C# by its grammar."""

import sys
from pathlib import Path

import tree_sitter_c_sharp
from tree_sitter import Language, Parser

parser = Parser(Language(tree_sitter_c_sharp.language()))
files = sorted(Path(sys.argv[1]).rglob("*.cs"))
assert files, "nothing was made"
wrong = [str(file) for file in files if parser.parse(file.read_bytes()).root_node.has_error]
sys.exit(f"no C#: {wrong}" if wrong else 0)
