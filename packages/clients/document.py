"""Prints openapi.yaml, whose path it gets, as JSON for the generators: without refusals, because the clients raise them, and without
what the server sends, because no client calls that, and with JSON bodies only, because a form is the same. For Java, pages, their positions and events
are of one type each."""

import json
import sys
from pathlib import Path

from ruamel.yaml import YAML

document = YAML(typ="safe").load(Path(sys.argv[1]))
# Generators repeat it in each file.
document["info"]["description"] = document["info"]["description"].split("\n\n")[0]
del document["webhooks"], document["components"]["pathItems"]
for path in document["paths"].values():
    for operation in path.values():
        if isinstance(operation, dict):
            answers = operation["responses"].items()
            operation["responses"] = {status: answer for status, answer in answers if status.startswith("2")}
            operation.pop("callbacks", None)
            content = operation.get("requestBody", {}).get("content", {})
            if "application/json" in content:
                operation["requestBody"]["content"] = {"application/json": content["application/json"]}
known = document["components"]["schemas"]["KnownEvent"]["discriminator"]["mapping"].values()
events = {"Event"} | {schema.rsplit("/", 1)[1] for schema in known}
for name, schema in document["components"]["schemas"].items():
    fields = schema.get("properties", {})
    if name.endswith("Pagination"):
        schema["x-implements"] = ["cardpayments.client.Position"]
    elif name in events:
        schema["x-implements"] = ["cardpayments.client.WebhookEvent"]
    elif "pagination" in fields:
        item = fields["response"]["items"]["$ref"].rsplit("/", 1)[1]
        schema["x-implements"] = [f"cardpayments.client.Page<{item}>"]
json.dump(document, sys.stdout, default=str)
