import os
from http.server import BaseHTTPRequestHandler, HTTPServer

from standardwebhooks import Webhook, WebhookVerificationError

webhook = Webhook(os.environ["WEBHOOK_KEY"])
# The ids of the events that were processed; in production, a unique column of your database.
seen = set()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        try:
            # Compares in constant time, and refuses a timestamp over five minutes off the clock.
            event = webhook.verify(body, dict(self.headers))
            if self.headers["webhook-id"] not in seen:
                seen.add(self.headers["webhook-id"])
                print(event["token"], event["type"], flush=True)
            self.send_response(204)
        except (WebhookVerificationError, ValueError):
            self.send_response(400)
        self.end_headers()


server = HTTPServer(("127.0.0.1", int(os.environ.get("PORT", 9000))), Receiver)
print(f"Listening on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
