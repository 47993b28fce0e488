"""A client of the card payments server: `connect`, the operations in `api`, the records in `models`."""

import base64
import itertools
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from .api_error import (
    ApiError,
    CardDeclined,
    Conflict,
    InvalidResource,
    NoResponse,
    NotFound,
    RateLimited,
    ServerError,
    Unauthorized,
)
from .client import AuthenticatedClient
from .known_events import KnownEvent
from .retrying import RetryingTransport
from .webhooks import WebhookRefused, verify_webhook

__all__ = [
    "ApiError",
    "AuthenticatedClient",
    "CardDeclined",
    "Conflict",
    "InvalidResource",
    "KnownEvent",
    "NoResponse",
    "NotFound",
    "RateLimited",
    "RetryingTransport",
    "ServerError",
    "Unauthorized",
    "WebhookRefused",
    "connect",
    "items",
    "verify_webhook",
]


def connect(url: str, secret_key: str, *, timeout: float = 70, transport: RetryingTransport | None = None) -> AuthenticatedClient:
    """Returns a client of the account that the key is of. Each operation waits `timeout` seconds for a response at most, and is
    repeated as `RetryingTransport` says."""
    return AuthenticatedClient(
        base_url=url.rstrip("/"),
        token=base64.b64encode(f"{secret_key}:".encode()).decode(),
        prefix="Basic",
        timeout=httpx.Timeout(timeout),
        httpx_args={"transport": transport or _transport(url)},
    )


def _transport(url: str) -> RetryingTransport:
    """A transport by the environment's proxy, which httpx takes only for a transport that it makes itself."""
    server, proxies = urlsplit(url), getproxies()
    proxy = None if proxy_bypass(server.hostname or "") else proxies.get(server.scheme) or proxies.get("all")
    if proxy is not None and "://" not in proxy:
        proxy = f"http://{proxy}"
    return RetryingTransport(httpx.HTTPTransport(proxy=proxy), httpx.AsyncHTTPTransport(proxy=proxy))


def items(operation: ModuleType, *path: str, client: AuthenticatedClient, **parameters: Any) -> Iterator[Any]:
    """Yields all items of a list, page after page: `items(list_charges, client=client, per_page=100)`."""
    get: Callable[..., Any] = operation.sync
    for number in itertools.count(1):
        page = get(*path, client=client, page=number, **parameters)
        yield from page.response
        if number * page.pagination.per_page >= page.pagination.count:
            return
