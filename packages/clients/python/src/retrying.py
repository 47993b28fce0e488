"""A transport of httpx that repeats requests until the server has answered."""

import asyncio
import random
import time
import uuid

import httpx

from .api_error import NoResponse, from_response

TRIES = 5
# In seconds. A server that asks for a longer pause gets no further request.
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 30.0
_LOST = (httpx.NetworkError, httpx.RemoteProtocolError, httpx.TimeoutException)


class RetryingTransport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Repeats a request whose connection is lost, and one that is answered by 429, by a status over 499, or by a 409 with
    Retry-After. A change has one Idempotency-Key for all its tries, so it happens once. Raises `ApiError` for refusals, and `NoResponse`:
    both have that key."""

    def __init__(self, transport: httpx.BaseTransport | None = None, async_transport: httpx.AsyncBaseTransport | None = None):
        self._transport = transport or httpx.HTTPTransport()
        self._async_transport = async_transport or httpx.AsyncHTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        _identify(request)
        # A stream could be sent once only.
        request.read()
        for attempt in _tries():
            try:
                response = self._transport.handle_request(request)
                response.read()
            except _LOST as lost:
                if attempt.is_last:
                    raise NoResponse(str(lost), _key(request)) from lost
                time.sleep(attempt.pause())
                continue
            pause = attempt.pause_after(response)
            if pause is None:
                return _accepted(response, request)
            time.sleep(pause)
        raise AssertionError("the last try returns or raises")

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        _identify(request)
        await request.aread()
        for attempt in _tries():
            try:
                response = await self._async_transport.handle_async_request(request)
                await response.aread()
            except _LOST as lost:
                if attempt.is_last:
                    raise NoResponse(str(lost), _key(request)) from lost
                await asyncio.sleep(attempt.pause())
                continue
            pause = attempt.pause_after(response)
            if pause is None:
                return _accepted(response, request)
            await asyncio.sleep(pause)
        raise AssertionError("the last try returns or raises")

    def close(self) -> None:
        self._transport.close()

    async def aclose(self) -> None:
        await self._async_transport.aclose()


class _Try:
    def __init__(self, number: int):
        self._number = number
        self.is_last = number == TRIES - 1

    def pause(self) -> float:
        """Returns seconds that double with each try, half of them at random."""
        return FIRST_PAUSE * 2**self._number * random.uniform(0.5, 1)

    def pause_after(self, response: httpx.Response) -> float | None:
        """Returns the seconds until the next try, None if the response is the last one."""
        after = response.headers.get("Retry-After", "")
        wanted = float(after) if after.isdecimal() else None
        status = response.status_code
        repeats = status == 429 or status >= 500 or (status == 409 and wanted is not None)
        if self.is_last or not repeats or (wanted or 0) > LONGEST_PAUSE:
            return None
        return max(wanted or 0, self.pause())


def _tries():
    return map(_Try, range(TRIES))


def _identify(request: httpx.Request) -> None:
    if request.method in ("POST", "PUT", "DELETE"):
        request.headers.setdefault("Idempotency-Key", str(uuid.uuid4()))


def _key(request: httpx.Request) -> str | None:
    return request.headers.get("Idempotency-Key")


def _accepted(response: httpx.Response, request: httpx.Request) -> httpx.Response:
    if response.status_code >= 300:
        raise from_response(response, _key(request))
    return response
