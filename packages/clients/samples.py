"""Writes the code samples of a language, as files that one program can hold beside each other: samples.py LANGUAGE FOLDER, with the document
that has samples on standard input."""

import json
import sys
from pathlib import Path

# How a language's files end, what samples are labelled with, and what is another one in each file.
LANGUAGES = {
    "python": ("py", "Python", {}),
    "typescript": ("ts", "TypeScript", {}),
    "go": ("go", "Go", {"package main": "package samples", "func main()": "func {name}()"}),
    "java": ("java", "Java", {"class Sample": "class {name}"}),
    "ruby": ("rb", "Ruby", {}),
    "php": ("php", "PHP", {}),
}


def main(language, folder):
    ending, label, changes = LANGUAGES[language]
    folder = Path(folder)
    folder.mkdir()
    for path in json.load(sys.stdin)["paths"].values():
        for operation in path.values():
            for sample in operation["x-codeSamples"]:
                # What it orders would be the faults of the next ones.
                if sample["label"] == label and operation["operationId"] != "update_sandbox_acquirer":
                    name, source = f"sample_{operation['operationId']}", sample["source"]
                    for old, new in changes.items():
                        source = source.replace(old, new.format(name=name))
                    (folder / f"{name}.{ending}").write_text(source)


if __name__ == "__main__":
    main(*sys.argv[1:])
