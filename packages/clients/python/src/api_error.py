"""Refusals of the server as exceptions."""

import json
from typing import Any

import httpx

# The codes of a card that is declined.
DECLINES = frozenset(
    "card_declined insufficient_funds invalid_cvv invalid_card processing_error suspected_fraud expired_card lost_card stolen_card "
    "unknown".split()
)


class ApiError(Exception):
    """The server refused a request.

    `status` is the HTTP status, `code` the error code (docs/errors.md), `description` its sentence, `messages` the faults of
    parameters as objects of `param`, `code` and `message`, `request_id` the X-Request-Id of the response, `idempotency_key` the
    Idempotency-Key that was sent, None if the request changes nothing, `body` the error object.
    """

    def __init__(self, status: int, body: dict[str, Any], request_id: str | None, idempotency_key: str | None = None) -> None:
        self.status, self.body, self.request_id, self.idempotency_key = status, body, request_id, idempotency_key
        self.code: str | None = body.get("error")
        self.description: str = body.get("error_description", "The response is none of this server.")
        self.messages: list[dict[str, str]] = body.get("messages", [])
        super().__init__(f"{status} {self.code}: {self.description} (request {request_id})")


class CardDeclined(ApiError):
    """The card was declined; nothing was charged. `code` says why."""

    @property
    def charge_token(self) -> str | None:
        return self.body.get("charge_token")


class InvalidResource(ApiError):
    """Parameters are missing or invalid; `messages` has each."""


class Unauthorized(ApiError):
    """The key is none of the account."""


class NotFound(ApiError):
    """There is no such record."""


class Conflict(ApiError):
    """Another request is still in flight."""


class RateLimited(ApiError):
    """There were too many requests."""


class ServerError(ApiError):
    """The server or the acquirer failed, and repeating did not help: repeat the request later, under this `idempotency_key`."""


class NoResponse(httpx.TransportError):
    """The connection was lost, and repeating did not help: repeat the request later, under this `idempotency_key`.

    It is None if the request changes nothing. The cause is what httpx said.
    """

    def __init__(self, message: str, idempotency_key: str | None) -> None:
        super().__init__(message)
        self.idempotency_key = idempotency_key


_BY_STATUS = {401: Unauthorized, 404: NotFound, 409: Conflict, 429: RateLimited}


def from_response(response: httpx.Response, idempotency_key: str | None) -> ApiError:
    """Returns the exception of a response that has been read."""
    try:
        body = json.loads(response.content)
    except ValueError:
        body = {}
    # insufficient_service_balance comes in a list.
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, dict):
        body = {}
    status, code = response.status_code, body.get("error")
    if code in DECLINES:
        kind = CardDeclined
    elif code in ("invalid_resource", "unprocessable_entity"):
        kind = InvalidResource
    elif status >= 500:
        kind = ServerError
    else:
        kind = _BY_STATUS.get(status, ApiError)
    return kind(status, body, response.headers.get("X-Request-Id"), idempotency_key)
