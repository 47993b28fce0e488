"""Webhooks of the server: only what it has signed is an event."""

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Mapping

from .known_events import CLASSES, KnownEvent
from .models.event import Event

# Seconds that the time of a webhook may be off this machine's.
TOLERANCE = 300


class WebhookRefused(ValueError):
    """The webhook is not of the server, or too old."""


def verify_webhook(headers: Mapping[str, str], body: bytes, key: str) -> KnownEvent | Event:
    """Returns the event of a webhook that was signed with an endpoint's key, `whsec_...`, within the last five minutes: one of
    the class of its type, such as `ChargeCapturedEvent`, whose `data` is a `Charge`, or an `Event` if the type is newer than this client.

    `headers` are those of the request, in any case of letters, and `body` is its body, byte for byte. Raises `WebhookRefused`.
    """
    lower = {name.lower(): value for name, value in headers.items()}
    try:
        identifier, timestamp = lower["webhook-id"], lower["webhook-timestamp"]
        known = lower["webhook-signature"].split(" ")
        age = int(time.time()) - int(timestamp)
    except (KeyError, ValueError):
        raise WebhookRefused("the request has not the headers of a webhook") from None
    if abs(age) > TOLERANCE:
        raise WebhookRefused("the webhook is too old, or of the future")
    try:
        secret = base64.b64decode(key.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        secret = b""
    if not secret:
        raise WebhookRefused("the key is none of an endpoint")
    mac = hmac.digest(secret, f"{identifier}.{timestamp}.".encode() + body, hashlib.sha256)
    expected = b"v1," + base64.b64encode(mac)
    if not any(hmac.compare_digest(expected, signature.encode()) for signature in known):
        raise WebhookRefused("the signature does not fit")
    event = json.loads(body)
    return CLASSES.get(event["type"], Event).from_dict(event)
