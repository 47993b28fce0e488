"""Prints openapi.yaml, which it is told, as JSON for the generators: without refusals, because the clients raise them, and without
what the server sends, because no client calls that."""

import json
import sys
from pathlib import Path

from ruamel.yaml import YAML

document = YAML(typ="safe").load(Path(sys.argv[1]))
del document["webhooks"]
for path in document["paths"].values():
    for operation in path.values():
        if isinstance(operation, dict):
            answers = operation["responses"].items()
            operation["responses"] = {status: answer for status, answer in answers if status.startswith("2")}
json.dump(document, sys.stdout, default=str)
