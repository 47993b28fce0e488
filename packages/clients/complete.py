"""Fails if a client lacks an operation of openapi.yaml: complete.py OPENAPI FOLDER LANGUAGE."""

import sys
from pathlib import Path

from ruamel.yaml import YAML

# How a language writes an operation, in a path or in a source.
WRITTEN = {
    "python": "/{snake}.py\n",
    "typescript": "\n    {snake}: {{",
    "go": "APIService) {pascal}(",
    "java": " {camel}(",
    "ruby": "def {snake}(",
    "php": "public function {camel}(",
    "rust": "pub async fn {snake}(",
}
SOURCES = {".py", ".ts", ".go", ".java", ".rb", ".php", ".rs"}


def main(document, folder, language):
    paths = YAML(typ="safe").load(Path(document))["paths"].values()
    operations = [it["operationId"] for path in paths for it in path.values() if isinstance(it, dict)]
    files = [file for file in Path(folder).rglob("*") if file.suffix in SOURCES and "node_modules" not in file.parts]
    client = "".join(f"{file}\n{file.read_text()}\n" for file in files)
    lacking = [name for name in operations if WRITTEN[language].format(**spellings(name)) not in client]
    if lacking or not operations:
        sys.exit(f"the client for {language} lacks {lacking}")


def spellings(name):
    pascal = "".join(word.capitalize() for word in name.split("_"))
    return {"snake": name, "pascal": pascal, "camel": pascal[0].lower() + pascal[1:]}


if __name__ == "__main__":
    main(*sys.argv[1:])
