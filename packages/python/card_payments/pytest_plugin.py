"""Fixtures of pytest: a server, and a fresh account for each test."""

import os
import threading

import pytest

import card_payments as library


def pytest_addoption(parser):
    group = parser.getgroup("card-payments", "a card payments server for tests")
    group.addoption(
        "--card-payments-url",
        metavar="URL",
        default=os.environ.get("CARD_PAYMENTS_URL"),
        help="a running test server, with CARD_PAYMENTS_SECRET_KEY as the key; by default CARD_PAYMENTS_URL, and without "
        "it a server of its own",
    )
    group.addoption("--card-payments-log", metavar="FILE", help="a file for the log of the run's own server")


def pytest_configure(config):
    config.pluginmanager.register(_SharedServer(config))


class _SharedServer:
    """In the controller of pytest-xdist: the server of all workers. It starts once one of them asks for it, and ends with the run."""

    def __init__(self, config):
        self._config, self._server = config, None
        # Each worker's requests arrive in a thread of their own.
        self._lock = threading.Lock()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node):
        # A worker on another machine would not reach the server, and starts its own.
        if node.gateway.spec.popen:
            channel = node.workerinput["card_payments"] = node.gateway.newchannel()
            channel.setcallback(lambda _: self._answer(channel))

    def _answer(self, channel):
        try:
            with self._lock:
                self._server = server = self._server or _start(self._config)
        except Exception as error:
            channel.close(str(error))
        else:
            channel.send((server.url, server.secret_key, server.publishable_key))

    def pytest_unconfigure(self):
        with self._lock:
            if self._server is not None:
                self._server.stop()


def _start(config):
    return library.start(log=config.getoption("--card-payments-log"))


@pytest.fixture(scope="session")
def card_payments(pytestconfig):
    """A server that the tests of a run share, also those in different workers of pytest-xdist."""
    url = pytestconfig.getoption("--card-payments-url")
    if url is not None:
        key = os.environ.get("CARD_PAYMENTS_SECRET_KEY")
        if key is None:
            raise pytest.UsageError("--card-payments-url needs the key of an account in CARD_PAYMENTS_SECRET_KEY")
        yield library.connect(url, key)
        return
    controller = getattr(pytestconfig, "workerinput", {}).get("card_payments")
    if controller is not None:
        controller.send("start")
        yield library.Server(*controller.receive())
        return
    with _start(pytestconfig) as server:
        yield server


@pytest.fixture
def card_payments_account(card_payments):
    """An account that no other test sees; it is deleted when the test ends."""
    with card_payments.create_account() as account:
        yield account
