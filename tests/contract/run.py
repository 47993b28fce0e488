#!/usr/bin/env python3
"""Ask a fresh server everything that its document allows and much that it does not, and count what came of it.

    target/contract/bin/python tests/contract/run.py [--examples N] [--seconds N] [--seed N] [--program PATH]
        [--document PATH]

Each operation for itself first, then sequences of them along the links; each with a server of its own. Fails on any
finding of Schemathesis, and where fewer than six operations of ten have also succeeded. Other arguments are Schemathesis'."""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import yaml

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
KEY = "sk_test_0123456789"
SUCCEEDED_AT_LEAST = 0.6


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--examples", default=os.environ.get("CARD_PAYMENTS_CONTRACT_EXAMPLES", "1"))
    arguments.add_argument("--seconds", default=os.environ.get("CARD_PAYMENTS_CONTRACT_SECONDS", "30"))
    arguments.add_argument("--seed", default=os.environ.get("CARD_PAYMENTS_CONTRACT_SEED", "1"))
    arguments.add_argument("--program", default=str(ROOT / "target/debug/card-payments"))
    arguments.add_argument("--document", default=str(ROOT / "openapi.yaml"))
    arguments, more = arguments.parse_known_args()
    asked = collections.defaultdict(collections.Counter)
    faults = run(arguments, ["--phases", "examples,coverage,fuzzing", "--max-examples", arguments.examples, *more], asked)
    # Sequences by time: a number of them ends where one cannot be repeated, which tokens that are used up make likely.
    faults += run(arguments, ["--phases", "stateful", "--max-time", arguments.seconds, *more], asked)
    faults += report(arguments.document, asked)
    if faults:
        sys.exit("\n".join(["contract:", *faults]))


def run(arguments, how, asked):
    """What went wrong in some phases against a server of their own."""
    with tempfile.TemporaryDirectory() as folder:
        server, url = start(arguments.program, folder)
        try:
            ended = ask(url, arguments.document, pathlib.Path(folder), ["--seed", arguments.seed, *how])
        finally:
            server.terminate()
            stopped = server.wait(timeout=90)
        for operation, counts in json.loads(pathlib.Path(folder, "statuses").read_text()).items():
            asked[operation].update(counts)
        panics = [line for line in pathlib.Path(folder, "log").read_text().splitlines() if "panicked" in line]
    return [f"{how[1]}: Schemathesis ended with {ended}"] * bool(ended) + [f"the server ended with {stopped}"] * bool(stopped) + panics


def start(program, folder):
    """A server with nothing of this machine's environment, on any free port."""
    environment = {
        "CARD_PAYMENTS_DATA_DIR": f"{folder}/data", "CARD_PAYMENTS_LISTEN": "127.0.0.1:0", "CARD_PAYMENTS_SECRET_KEY": KEY,
        "CARD_PAYMENTS_LOG": "warn",
    }
    log = open(f"{folder}/log", "w")
    server = subprocess.Popen([program], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True)
    for line in server.stdout:
        if line.startswith("Listening on "):
            return server, line.split()[-1]
    sys.exit(f"the server does not listen: {pathlib.Path(folder, 'log').read_text()}")


def ask(url, document, folder, how):
    environment = os.environ | {
        "CARD_PAYMENTS_URL": url, "CARD_PAYMENTS_SECRET_KEY": KEY, "CARD_PAYMENTS_STATUSES": str(folder / "statuses"),
        "PYTHONPATH": str(HERE), "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [
        pathlib.Path(sys.executable).parent / "st", "--config-file", HERE / "schemathesis.toml",
        "run", document, "--url", url, "--warnings", "off", *how,
    ]
    return subprocess.run(command, env=environment, cwd=folder).returncode


def report(document, asked):
    """Which operations have succeeded, and which documented statuses nobody has seen."""
    document = yaml.safe_load(pathlib.Path(document).read_text())
    documented = {
        f"{method.upper()} {path}": set(operation["responses"])
        for path, item in document["paths"].items() for method, operation in item.items() if "responses" in operation
    }
    succeeded = {name for name in documented if any(status.startswith("2") for status in asked[name])}
    unseen = collections.Counter(status for name, known in documented.items() for status in known if status not in asked[name])
    statuses = sum(map(len, documented.values()))
    print(f"calls: {sum(sum(counts.values()) for counts in asked.values())}; operations: {len(documented)}, succeeded: {len(succeeded)}")
    print(f"documented statuses: {statuses}, not seen: {sum(unseen.values())}, of each: {dict(sorted(unseen.items()))}")
    for name in sorted(documented.keys() - succeeded):
        print(f"never succeeded: {name} {dict(asked[name])}")
    return ["too few operations have succeeded"] * (len(succeeded) < SUCCEEDED_AT_LEAST * len(documented))


if __name__ == "__main__":
    main()
