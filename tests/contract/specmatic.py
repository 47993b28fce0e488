#!/usr/bin/env python3
"""Sends every request example of openapi.yaml to a fresh server, and checks the answer by the example of its name, with Specmatic.

    target/contract/bin/python tests/contract/specmatic.py [--program PATH] [--document PATH]

Tokens of the examples are replaced by those of records that exist, made for each operation. specmatic.txt lists what is left out, with
reasons. Fails on any finding, and if an operation is neither sent nor left out."""

import argparse
import base64
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml
from records import CARD, Records
from run import HERE, KEY, ROOT, start

JAR = HERE / "node_modules/specmatic/specmatic.jar"
# An account has five endpoints at most, so operations share one.
SHARED = "webhook_endpoint_token"


class AllRecords(Records):
    """With those that a fuzzer must not have: a snapshot puts the whole account back."""

    def __init__(self, url, key):
        super().__init__(url, key)
        self.makers["snapshot_token"] = lambda: self.post("/1/sandbox/snapshots", {})["token"]
        self.makers["request_id"] = lambda: self.ask("GET", "/1/sandbox/requests")[0]["request_id"]
        self.of_operation["PUT", "/1/subscriptions/{sub_token}"] = self.subscription_and_card

    def subscription_and_card(self):
        made = self.customers_subscription()
        return {**made, "card_token": self.post(f"/1/customers/{made['customer_token']}/cards", CARD)["token"]}

    def token(self, name, operation):
        return super().token(name, ("GET", "") if name == SHARED and operation[0] != "DELETE" else operation)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--program", default=str(ROOT / "target/debug/card-payments"))
    arguments.add_argument("--document", default=str(ROOT / "openapi.yaml"))
    arguments = arguments.parse_args()
    left_out = dict(line.split(": ", 1) for line in (HERE / "specmatic.txt").read_text().splitlines() if not line.startswith("#"))
    document = yaml.safe_load(pathlib.Path(arguments.document).read_text())
    with tempfile.TemporaryDirectory() as folder:
        server, url = start(arguments.program, folder)
        try:
            sent = prepare(document, AllRecords(url, KEY), left_out)
            tests, failures = test(document, url, pathlib.Path(folder))
        finally:
            server.terminate()
            server.wait(timeout=90)
    print(f"specmatic: {tests} requests of {sent} operations, {len(left_out)} left out")
    if failures or tests < sent:
        sys.exit(f"specmatic: {failures or 'fewer requests than operations'}")


def operations(document):
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield path, method, operation


def resolved(document, value):
    while "$ref" in value:
        reference, value = value["$ref"], document
        for part in reference[2:].split("/"):
            value = value[part.replace("~1", "/")]
    return value


def prepare(document, records, left_out):
    """Leaves the operations that are sent, with tokens of records that exist; returns how many they are."""
    unknown = left_out.keys() - {operation["operationId"] for _, _, operation in operations(document)}
    if unknown:
        sys.exit(f"specmatic.txt leaves out what the document has not: {unknown}")
    # It would read what the server sends as if clients sent it.
    del document["webhooks"], document["components"]["pathItems"]
    sent = 0
    for path, method, operation in list(operations(document)):
        if operation["operationId"] in left_out:
            del document["paths"][path][method]
            continue
        sent += 1
        operation.pop("callbacks", None)
        content = operation.get("requestBody", {}).get("content", {})
        if "application/json" in content:
            # A form is the same body.
            operation["requestBody"]["content"] = {"application/json": content["application/json"]}
        examples = content.get("application/json", {}).get("examples", {})
        names = list(examples) or ["success"]
        parameters = [resolved(document, parameter) for parameter in operation.get("parameters", [])]
        parameters = [parameter for parameter in parameters if parameter.get("required")]
        tokens = values(records, method.upper(), path, parameters)
        operation["parameters"] = [
            {**parameter, "examples": {name: {"value": tokens[parameter["name"]]} for name in names}} for parameter in parameters
        ]
        for parameter in operation["parameters"]:
            parameter.pop("example", None)
        for example in examples.values():
            fill(records, example["value"], tokens)
        answered(document, operation, names)
    document["paths"] = {path: item for path, item in document["paths"].items() if item}
    return sent


def answered(document, operation, names):
    """Keeps the answers that an example asks for."""
    kept = {}
    for status, response in operation["responses"].items():
        response = dict(resolved(document, response))
        response.pop("links", None)
        content = response.get("content", {}).get("application/json")
        if content:
            shown = {name: resolved(document, one) for name, one in content.get("examples", {}).items() if name in names}
            response["content"] = {"application/json": {**content, "examples": shown}}
        if status < "300" or content and shown:
            kept[status] = response
    operation["responses"] = kept


def values(records, method, path, parameters):
    """The values of an operation's parameters, and what else its records have."""
    made = records.of_operation.get((method, path), dict)()
    for parameter in parameters:
        name = parameter["name"]
        if name not in made:
            made[name] = records.token(name, (method, path)) if name in records.makers else parameter.get("example")
    return made


def fill(records, body, tokens):
    """Puts tokens that exist into a body."""
    for name in body if isinstance(body, dict) else ():
        if name == "pem":
            body[name] = records.certificate()
        elif name.endswith("_token") and name in records.makers:
            body[name] = tokens.get(name) or records.makers[name]()


def test(document, url, folder):
    """Returns how many requests were sent, and what went wrong."""
    (folder / "openapi.json").write_text(json.dumps(document, default=str))
    key = base64.b64encode(f"{KEY}:".encode()).decode()
    command = ["java", "-XX:TieredStopAtLevel=1", "-jar", JAR, "test", "openapi.json", f"--testBaseURL={url}", "--timeout=60"]
    # It reads the key from a variable that is called as its scheme.
    environment = {**os.environ, "secret_key": key}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    counted = re.search(r"Tests run: (\d+), Successes: (\d+)", done.stdout)
    if not counted:
        return 0, done.stdout[-5000:] + done.stderr[-5000:]
    failures = done.stdout.partition("Unsuccessful Scenarios:")[2]
    tests, successes = map(int, counted.groups())
    return tests, failures if tests > successes else ""


if __name__ == "__main__":
    main()
