"""Reads sources where no compiler is to be had: read.py FOLDER. Every file must be of its language by the grammar."""

import sys
from pathlib import Path

import tree_sitter_c_sharp
import tree_sitter_dart
import tree_sitter_swift
from tree_sitter import Language, Parser

GRAMMARS = {".cs": tree_sitter_c_sharp, ".dart": tree_sitter_dart, ".swift": tree_sitter_swift}
parsers = {ending: Parser(Language(grammar.language())) for ending, grammar in GRAMMARS.items()}
files = sorted(file for file in Path(sys.argv[1]).rglob("*") if file.suffix in parsers)
assert files, "nothing was made"
wrong = [str(file) for file in files if parsers[file.suffix].parse(file.read_bytes()).root_node.has_error]
sys.exit(f"not its language: {wrong}" if wrong else 0)
