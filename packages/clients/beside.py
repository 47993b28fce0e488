"""Runs a command with an account of its own beside the server of `card-payments exec`: beside.py COMMAND... Its environment:

SERVER   the server's address, by a relay that adds to its answers what a later version may add
KEY      the account's secret key
CUT      the address of a network that fails: for each Idempotency-Key it loses the answer to the first request, refuses the second one
         with 503, cuts the answer to the third one off, and lets the fourth one pass
LOST     the address of a network that loses the answer to every change
WEBHOOK  a file with a webhook of a charge, as JSON: headers, body and the key of its endpoint; with it `events`, one of each kind of record,
         and `newer`, of a type that joined later, all as a later version may write them
"""

import base64
import hashlib
import hmac
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from urllib.parse import urlsplit

sys.path[:0] = [str(Path(__file__).parent / folder) for folder in ("../python", "../../tests/clients")]
import card_payments
import relay

CHARGE = {
    "email": "roland@example.com", "description": "Webhook", "amount": 400, "ip_address": "203.192.1.172",
    "card": {
        "number": "4200000000000000", "expiry_month": 12, "expiry_year": 2099, "cvc": "123", "name": "Roland Robot",
        "address_line1": "42 Sevenoaks St", "address_city": "Lathlain", "address_country": "AU",
    },
}  # fmt: skip


class Network(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_address = ""
    tries: dict[str, int] = {}

    def pass_on(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        key = self.headers.get("Idempotency-Key")
        number = self.tries[key] = self.tries.get(key, 0) + 1
        if self.command != "GET" and key is None:
            return self.answer(400, {}, b'{"error": "there is no Idempotency-Key"}')
        fate = "passes" if self.command == "GET" else self.fate(number)
        if fate == "refused":
            return self.answer(503, {"Retry-After": "1"}, b'{"error": "service_unavailable"}')
        connection = http.client.HTTPConnection(self.server_address)
        # The connection to the client is kept, this one is not.
        headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
        connection.request(self.command, self.path, body, headers)
        response = connection.getresponse()
        text = response.read()
        connection.close()
        self.close_connection = fate in ("lost", "cut")
        if fate == "lost":
            return None
        kept = {name: value for name, value in response.getheaders() if name.lower() in ("content-type", "x-request-id")}
        return self.answer(response.status, kept, text, text[:20] if fate == "cut" else text)

    def fate(self, number):
        """What the answer to a try of a change meets."""
        return {1: "lost", 2: "refused", 3: "cut"}.get(number, "passes")

    do_GET = do_POST = do_PUT = do_DELETE = pass_on

    def answer(self, status, headers, body, sent=None):
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body if sent is None else sent)

    def log_message(self, *_):
        pass


class LosingNetwork(Network):
    def fate(self, number):
        return "lost"


class Receiver(BaseHTTPRequestHandler):
    received: Queue = Queue()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.received.put({"headers": {name.lower(): value for name, value in self.headers.items()}, "body": body})
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def listen(handler):
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def signed(headers, event, key):
    """A webhook with another body."""
    body = json.dumps(event)
    text = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.{body}"
    mac = hmac.digest(base64.b64decode(key.removeprefix("whsec_")), text.encode(), hashlib.sha256)
    return {"headers": {**headers, "webhook-signature": f"v1,{base64.b64encode(mac).decode()}"}, "body": body}


def cause_events(account):
    """Causes an event of each kind of record that a sandbox account has."""
    charge = account.request("POST", "/1/charges", {**CHARGE, "capture": False})
    account.request("PUT", f"/1/charges/{charge['token']}/capture", {})
    account.request("POST", f"/1/charges/{charge['token']}/refunds", {"amount": 100})
    disputed = account.request("POST", "/1/charges", CHARGE)
    account.request("POST", "/1/sandbox/disputes", {"charge_token": disputed["token"]})
    customer = account.request("POST", "/1/customers", {"email": "roland@example.com", "card": CHARGE["card"]})
    plan = account.request("POST", "/1/plans", {"name": "Coffee", "amount": 400, "interval": 1, "interval_unit": "month"})
    account.request("POST", "/1/subscriptions", {"plan_token": plan["token"], "customer_token": customer["token"]})
    bank_account = {"name": "Mr Roland Robot", "bsb": "806015", "number": "987654321"}
    account.request("POST", "/1/recipients", {"email": "roland@example.com", "bank_account": bank_account})
    account.request("POST", "/1/sandbox/deposits", {"amount": 50000, "narration": "Direct credit"})
    account.request("POST", "/1/transfers", {"description": "Earnings", "amount": 400, "currency": "AUD", "recipient": "self"})


# The kinds of record, by the first events of their types.
KINDS = {"charge", "customer", "refund", "plan", "subscription", "recipient", "deposit", "transfer", "dispute", "ping"}


def kinds_of_events(server):
    """A webhook of each kind: its headers, and its event as a later version may write it."""
    with server.create_account() as account:
        endpoint = account.request("POST", "/1/webhook_endpoints", {"url": listen(Receiver)})
        cause_events(account)
        account.request("POST", f"/1/sandbox/webhook_endpoints/{endpoint['token']}/ping", {})
        webhooks = {}
        while KINDS - {name.split(".")[0] for name in webhooks}:
            webhook = Receiver.received.get()
            event = json.loads(webhook["body"])
            webhooks[event["type"]] = webhook["headers"], relay.tomorrow(event)
    return webhooks.values()


def main(command):
    server = card_payments.connect(os.environ["CARD_PAYMENTS_URL"], os.environ["CARD_PAYMENTS_SECRET_KEY"])
    tomorrow = relay.listen(server.url)
    Network.server_address = urlsplit(tomorrow).netloc
    with server.create_account() as account, tempfile.TemporaryDirectory() as folder:
        endpoint = account.request("POST", "/1/webhook_endpoints", {"url": listen(Receiver)})
        account.request("POST", "/1/charges", CHARGE)
        webhook = Receiver.received.get()
        account.request("DELETE", f"/1/webhook_endpoints/{endpoint['token']}")
        key = endpoint["key"]
        events = [signed(headers, event, key) for headers, event in kinds_of_events(server)]
        newer = {**json.loads(events[0]["body"]), "type": "charge.of_tomorrow", "data": {"token": "new_1"}}
        newer = signed(webhook["headers"], newer, key)
        file = Path(folder) / "webhook.json"
        file.write_text(json.dumps({**webhook, "key": key, "events": events, "newer": newer}))
        networks = {"CUT": listen(Network), "LOST": listen(LosingNetwork)}
        environment = {"SERVER": tomorrow, "KEY": account.secret_key, **networks, "WEBHOOK": str(file)}
        return subprocess.run(command, env={**os.environ, **environment}).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
