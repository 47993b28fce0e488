"""A server that the workers of pytest-xdist share."""

import time

import card_payments as library
import pytest

# Each test runs in each of two workers.
IN_BOTH = ("--tx", "2*popen", "--dist", "each")


@pytest.fixture
def servers(pytester):
    """Returns the servers that tests named in the file `servers`, one for each line."""

    def read():
        return [library.connect(*line.split()) for line in (pytester.path / "servers").read_text().splitlines()]

    pytester.makeconftest(
        """
        import pytest


        @pytest.fixture
        def named(card_payments):
            with open("servers", "a") as servers:
                print(card_payments.url, card_payments.secret_key, file=servers)
        """
    )
    return read


def wait_until_ended(server):
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            server.request("GET", "/1/plans")
        except OSError:
            return
    pytest.fail("the server still answers")


def test_workers_share_a_server_and_its_log(pytester, servers):
    pytester.makepyfile(
        """
        def test_it(card_payments, card_payments_account, named):
            assert card_payments_account.url == card_payments.url
            assert card_payments.publishable_key.startswith("pk_")
        """
    )
    pytester.runpytest_subprocess(*IN_BOTH, "--card-payments-log", "server.log").assert_outcomes(passed=2)
    one, other = servers()
    assert one.url == other.url
    with pytest.raises(OSError):
        one.request("GET", "/1/plans")
    (log,) = pytester.path.glob("server.log*")
    assert log.read_text().count('"/1/sandbox/accounts"') >= 2


def test_no_server_starts_that_no_test_needs(pytester):
    pytester.makepyfile("def test_it(): pass")
    pytester.runpytest_subprocess(*IN_BOTH, "--card-payments-log", "server.log").assert_outcomes(passed=2)
    assert not (pytester.path / "server.log").exists()


def test_a_worker_in_the_place_of_a_killed_one_uses_the_same_server(pytester, servers):
    pytester.makepyfile(
        """
        import os
        import signal


        def test_that_is_killed(named):
            os.kill(os.getpid(), signal.SIGKILL)


        def test_in_the_next_worker(card_payments_account, named):
            assert card_payments_account.request("GET", "/1/plans") == []
        """
    )
    pytester.runpytest_subprocess("-n", "1").assert_outcomes(failed=1, passed=1)
    one, other = servers()
    assert one.url == other.url


def test_the_server_ends_with_a_run_that_is_killed(pytester, servers):
    pytester.makepyfile(
        """
        import os
        import signal


        def test_it(named):
            os.kill(os.getppid(), signal.SIGKILL)
        """
    )
    pytester.runpytest_subprocess("-n", "1")
    (server,) = servers()
    wait_until_ended(server)


def test_a_server_that_does_not_start_is_an_error_in_each_worker(pytester):
    pytester.makepyfile("def test_it(card_payments): pass")
    ran = pytester.runpytest_subprocess(*IN_BOTH, "--card-payments-log", "/nowhere/server.log")
    ran.assert_outcomes(errors=2)
    ran.stdout.fnmatch_lines(["*RemoteError: * did not start: exit code *"])
