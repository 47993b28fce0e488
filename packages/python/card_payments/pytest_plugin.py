"""Fixtures of pytest: a server, and a fresh account for each test."""

import os

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
    group.addoption("--card-payments-log", metavar="FILE", help="a file for the log of the tests' own server")


@pytest.fixture(scope="session")
def card_payments(pytestconfig):
    """A server that the tests share; each worker of pytest-xdist has its own."""
    url = pytestconfig.getoption("--card-payments-url")
    if url is not None:
        key = os.environ.get("CARD_PAYMENTS_SECRET_KEY")
        if key is None:
            raise pytest.UsageError("--card-payments-url needs the key of an account in CARD_PAYMENTS_SECRET_KEY")
        yield library.connect(url, key)
        return
    log, worker = pytestconfig.getoption("--card-payments-log"), os.environ.get("PYTEST_XDIST_WORKER")
    with library.start(log=f"{log}.{worker}" if log and worker else log) as server:
        yield server


@pytest.fixture
def card_payments_account(card_payments):
    """An account that no other test sees; it is deleted when the test ends."""
    with card_payments.create_account() as account:
        yield account
