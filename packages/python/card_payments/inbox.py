"""A receiver of webhooks."""

import base64
import hashlib
import hmac
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Inbox:
    """Receives an account's webhooks on a free port of 127.0.0.1, and verifies their signatures."""

    def __init__(self, register):
        self._changed, self._taken, self._ids = threading.Condition(), set(), set()
        self._key = None
        # All events so far, in the order of their arrival.
        self.events = []
        inbox = self

        class Receiver(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(204 if inbox._receive(self.headers, body) else 400)
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/"
        with self._changed:
            self._key = base64.b64decode(register(self.url).removeprefix("whsec_"))

    def _receive(self, headers, body):
        with self._changed:
            identifier = headers["webhook-id"]
            signed = f"{identifier}.{headers['webhook-timestamp']}.".encode() + body
            signature = "v1," + base64.b64encode(hmac.digest(self._key, signed, hashlib.sha256)).decode()
            if not any(hmac.compare_digest(signature, known) for known in headers["webhook-signature"].split()):
                return False
            # A repeated delivery is no second event.
            if identifier not in self._ids:
                self._ids.add(identifier)
                self.events.append(json.loads(body))
                self._changed.notify_all()
            return True

    def wait_for(self, event_type, timeout=10):
        """Returns the next event of a type, each event once. Raises TimeoutError if none arrives in `timeout` seconds."""
        end = time.monotonic() + timeout
        with self._changed:
            while True:
                for event in self.events:
                    if event["type"] == event_type and event["token"] not in self._taken:
                        self._taken.add(event["token"])
                        return event
                if not self._changed.wait(end - time.monotonic()):
                    types = ", ".join(event["type"] for event in self.events) or "nothing"
                    raise TimeoutError(f"no {event_type} within {timeout} seconds, but {types}")

    def close(self):
        """Closes the port."""
        self._server.shutdown()
        self._server.server_close()
