"""A receiver of webhooks."""

import json


class Inbox:
    """Receives an account's webhooks inside the server, which verifies their signatures. Time-outs are whole seconds, at most 30."""

    def __init__(self, account):
        inbox = account.request("POST", "/1/sandbox/inboxes", {})
        account.request("POST", "/1/webhook_endpoints", {"url": inbox["url"]})
        self.url = inbox["url"]
        self._account, self._path = account, f"/1/sandbox/inboxes/{inbox['token']}"
        self._taken = set()

    def answer(self, **answer):
        """Orders the answer from the next delivery on: status, latency_ms, fault (hang or reset), every (only each nth)."""
        return self._account.request("PUT", self._path, answer)

    def deliveries(self, count=0, timeout=10):
        """Returns the last 1,000 deliveries, the oldest first, once there are `count`, or after `timeout` seconds with fewer.

        Each has number, headers, body, signature (valid, invalid or missing) and its answer.
        """
        path, wait = f"{self._path}/deliveries?per_page=500", f"&count={count}&wait={timeout}" if count else ""
        deliveries = self._account.request("GET", path + wait)
        if len(deliveries) == 500:
            older = self._account.request("GET", f"{path}&page=2")
            deliveries += [delivery for delivery in older if delivery["number"] < deliveries[-1]["number"]]
        return deliveries[::-1]

    def wait_for(self, event_type, timeout=10):
        """Returns the next signed event of a type, each once. Raises TimeoutError once nothing arrives for `timeout` seconds."""
        count = 1
        while True:
            deliveries = self.deliveries(count, timeout)
            events = [json.loads(delivery["body"]) for delivery in deliveries if delivery["signature"] == "valid"]
            for event in events:
                if event["type"] == event_type and event["token"] not in self._taken:
                    self._taken.add(event["token"])
                    return event
            received = max((delivery["number"] for delivery in deliveries), default=0)
            # The inbox keeps no more, and more cannot be waited for.
            if received < count or received >= 1000:
                types = ", ".join(event["type"] for event in events) or "nothing"
                raise TimeoutError(f"no {event_type} within {timeout} seconds, but {types}")
            count = received + 1
