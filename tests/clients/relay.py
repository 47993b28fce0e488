"""Runs a command beside a server of tomorrow: relay.py COMMAND...

What SERVER answers, and the body in the file WEBHOOK, come to the command as a later version may write them: each object has a property that
no document of today names, and words of open sets are new ones. What the document calls compatible must break no client."""

import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

ADDED = {"added_tomorrow": {"since": "tomorrow", "items": [1, None]}}
# Properties that are maps: all that they hold is the client's own.
MAPS = {"metadata", "rights"}
# Properties whose words are an open set.
OPEN = {"scheme": "scheme_of_tomorrow"}


def tomorrow(value):
    if isinstance(value, list):
        return [tomorrow(item) for item in value]
    if isinstance(value, dict):
        return {name: inner if name in MAPS else OPEN.get(name, tomorrow(inner)) for name, inner in value.items()} | ADDED
    return value


def rewritten(text):
    return json.dumps(tomorrow(json.loads(text))).encode()


class Relay(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_address = ""

    def read_body(self):
        """Reads a body of a known length, or one in chunks."""
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        # It is sent on with its length.
        del self.headers["Transfer-Encoding"]
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def pass_on(self):
        body = self.read_body()
        connection = http.client.HTTPConnection(self.server_address)
        # Neither connection nor coding are the client's.
        left = ("connection", "accept-encoding", "host")
        connection.request(self.command, self.path, body, {name: it for name, it in self.headers.items() if name.lower() not in left})
        response = connection.getresponse()
        text = response.read()
        connection.close()
        if response.headers.get_content_type() == "application/json" and text:
            text = rewritten(text)
        self.send_response(response.status)
        for name, it in response.getheaders():
            if name.lower() not in ("content-length", "connection", "transfer-encoding"):
                self.send_header(name, it)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_DELETE = pass_on

    def log_message(self, *_):
        pass


def listen(server):
    """The address of a relay in front of a server's."""
    relay = type("Relay", (Relay,), {"server_address": urlsplit(server).netloc})
    listener = ThreadingHTTPServer(("127.0.0.1", 0), relay)
    listener.daemon_threads = True
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{listener.server_port}"


def main(command):
    with tempfile.NamedTemporaryFile() as webhook:
        webhook.write(rewritten(Path(os.environ["WEBHOOK"]).read_bytes()))
        webhook.flush()
        environment = {"SERVER": listen(os.environ["SERVER"]), "WEBHOOK": webhook.name}
        return subprocess.run(command, env={**os.environ, **environment}).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
