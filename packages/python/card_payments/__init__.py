"""A card payments server for tests, and accounts of it that nothing else uses."""

import base64
import json
import os
import shutil
import subprocess
import sysconfig
import urllib.error
import urllib.request

from card_payments.inbox import Inbox

__all__ = ["Account", "ApiError", "Inbox", "Server", "connect", "start"]


class ApiError(Exception):
    """The server refused a request. `body` is the JSON of its answer."""

    def __init__(self, call, status, body):
        error = body[0] if isinstance(body, list) else body
        self.status, self.body = status, body
        self.code = error.get("error")
        super().__init__(f"{call}: {status} {self.code}: {error.get('error_description')}")


def start(*, fixtures=None, sample=False, log=None, program=None):
    """Starts a server of its own on a free port. It ends with `stop`, and with this process at the latest.

    `fixtures` is a file of fixtures for the first account, `sample` asks for the built-in ones, `log` is a file for the
    server's log, `program` another program than the one that was installed.
    """
    command = [program or _program(), "exec", "--json"]
    if fixtures is not None:
        command += ["--fixtures", os.fspath(fixtures)]
    if sample:
        command.append("--sample")
    if log is not None:
        command += ["--log", os.fspath(log)]
    # The server ends with its input. In a session of its own it gets no Ctrl-C before the tests have ended.
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "start_new_session": True}
    process = subprocess.Popen(command, text=True, **pipes)
    line = process.stdout.readline()
    if not line:
        process.communicate()
        raise RuntimeError(f"{command[0]} did not start: exit code {process.returncode}")
    started = json.loads(line)
    return Server(started["listening"], started["secret_key"], started["publishable_key"], process=process)


def connect(url, secret_key):
    """Returns the server at an address. The key is that of one of its accounts."""
    return Server(url.rstrip("/"), secret_key)


def _program():
    # On Windows the name of a program has an ending.
    own = os.path.join(sysconfig.get_path("scripts"), "card-payments" + (sysconfig.get_config_var("EXE") or ""))
    found = shutil.which(own) or shutil.which("card-payments")
    if found is None:
        raise RuntimeError("there is no card-payments on the PATH")
    return found


class Server:
    """A running server, and its first account."""

    def __init__(self, url, secret_key, publishable_key=None, *, process=None):
        self.url, self.secret_key, self.publishable_key = url, secret_key, publishable_key
        self._process = process

    def create_account(self):
        """Creates an account with keys, a clock and an opening balance of its own."""
        account = self.request("POST", "/1/sandbox/accounts", {})
        return Account(self, account["token"], account["secret_key"], account["publishable_key"])

    def request(self, method, path, body=None, *, headers=None, key=None):
        """Sends a request with JSON, and returns the record of the response."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=headers or {})
        request.add_header("Content-Type", "application/json")
        credentials = base64.b64encode(f"{key or self.secret_key}:".encode()).decode()
        request.add_header("Authorization", f"Basic {credentials}")
        try:
            with _OPENER.open(request, timeout=70) as response:
                text = response.read()
        except urllib.error.HTTPError as error:
            with error:
                raise ApiError(f"{method} {path}", error.code, json.loads(error.read() or b"{}")) from None
        return json.loads(text)["response"] if text else None

    def stop(self):
        """Stops a server that `start` has started; its data is deleted."""
        process, self._process = self._process, None
        if process is not None:
            try:
                process.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


# A proxy would look for the server on its own machine.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Account:
    """An account that nothing else uses."""

    def __init__(self, server, token, secret_key, publishable_key):
        self._server, self.url, self.token = server, server.url, token
        self.secret_key, self.publishable_key = secret_key, publishable_key

    def request(self, method, path, body=None, *, headers=None):
        """Sends a request with JSON, and returns the record of the response."""
        return self._server.request(method, path, body, headers=headers, key=self.secret_key)

    def move_clock(self, advance=None, *, to=None):
        """Moves the account's clock ahead, by a span such as "7d" or to a time, and returns all that was due on the way."""
        ran, move = [], {"advance": advance} if to is None else {"to": to}
        while True:
            moved = self.request("PUT", "/1/sandbox/clock", move)
            ran += moved["ran"]
            if moved["complete"]:
                return ran
            move = {"to": moved["to"]}

    def set_faults(self, **faults):
        """Orders faults of the acquirer: decline, latency_ms, gateway_error_rate, drop_rate, seed."""
        return self.request("PUT", "/1/sandbox/acquirer", faults)

    def open_inbox(self):
        """Registers a receiver of webhooks inside the server. It is deleted with the account."""
        return Inbox(self)

    def delete(self):
        """Deletes the account with all that it holds."""
        self._server.request("DELETE", f"/1/sandbox/accounts/{self.token}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.delete()
