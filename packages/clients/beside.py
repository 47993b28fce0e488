"""Runs a command with an account of its own beside the server of `card-payments exec`: beside.py COMMAND... Its environment:

SERVER   the server's address, by a relay that adds to its answers what a later version may add
KEY      the account's secret key
CUT      the address of a network that fails: for each Idempotency-Key it loses the answer to the first request, refuses the second one
         with 503, and lets the third one pass
WEBHOOK  a file with a webhook of a charge, as JSON: headers, body and the key of its endpoint
"""

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
        if self.command != "GET" and number == 2:
            return self.answer(503, {"Retry-After": "1"}, b'{"error": "service_unavailable"}')
        connection = http.client.HTTPConnection(self.server_address)
        # The connection to the client is kept, this one is not.
        headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
        connection.request(self.command, self.path, body, headers)
        response = connection.getresponse()
        text = response.read()
        connection.close()
        if self.command != "GET" and number == 1:
            self.close_connection = True
            return None
        kept = {name: value for name, value in response.getheaders() if name.lower() in ("content-type", "x-request-id")}
        return self.answer(response.status, kept, text)

    do_GET = do_POST = do_PUT = do_DELETE = pass_on

    def answer(self, status, headers, body):
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


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


def main(command):
    server = card_payments.connect(os.environ["CARD_PAYMENTS_URL"], os.environ["CARD_PAYMENTS_SECRET_KEY"])
    tomorrow = relay.listen(server.url)
    Network.server_address = urlsplit(tomorrow).netloc
    with server.create_account() as account, tempfile.TemporaryDirectory() as folder:
        endpoint = account.request("POST", "/1/webhook_endpoints", {"url": listen(Receiver)})
        account.request("POST", "/1/charges", CHARGE)
        webhook = Receiver.received.get(timeout=10)
        account.request("DELETE", f"/1/webhook_endpoints/{endpoint['token']}")
        file = Path(folder) / "webhook.json"
        file.write_text(json.dumps({**webhook, "key": endpoint["key"]}))
        environment = {"SERVER": tomorrow, "KEY": account.secret_key, "CUT": listen(Network), "WEBHOOK": str(file)}
        return subprocess.run(command, env={**os.environ, **environment}).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
