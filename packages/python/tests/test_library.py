"""The library and its fixtures, against the program."""

import urllib.request

import card_payments as library
import pytest
from card_payments import ApiError

PLAN = {"name": "Tea", "amount": 1000, "interval": 1, "interval_unit": "month"}


def test_each_test_has_an_account_of_its_own(card_payments):
    with card_payments.create_account() as one, card_payments.create_account() as other:
        one.request("POST", "/1/plans", PLAN)
        assert len(one.request("GET", "/1/plans")) == 1
        assert other.request("GET", "/1/plans") == []
        assert one.publishable_key.startswith("pk_")
    with pytest.raises(ApiError) as gone:
        one.request("GET", "/1/plans")
    assert (gone.value.status, gone.value.code) == (401, "unauthorized")


def test_an_error_says_what_was_refused(card_payments_account):
    with pytest.raises(ApiError, match=r"POST /1/plans: 422 unprocessable_entity: Validation failure") as refused:
        card_payments_account.request("POST", "/1/plans", {})
    assert {message["param"] for message in refused.value.body["messages"]} >= {"name", "amount"}


def test_a_clock_is_moved_by_a_span_or_to_a_time(card_payments_account):
    card_payments_account.move_clock("1d")
    assert card_payments_account.move_clock(to="2090-01-01") == []
    assert card_payments_account.request("GET", "/1/sandbox/clock")["now"].startswith("2090-01-01")


def test_an_inbox_gives_events_that_are_signed_and_shows_all_that_arrives(card_payments_account):
    inbox = card_payments_account.open_inbox()
    assert inbox.deliveries() == []
    forged = b'{"type": "plan.created", "token": "evt_1"}'
    headers = {"webhook-id": "evt_1", "webhook-timestamp": "0", "webhook-signature": "v1,AAAA"}
    urllib.request.urlopen(urllib.request.Request(inbox.url, data=forged, headers=headers)).close()
    card_payments_account.request("POST", "/1/plans", PLAN)
    assert inbox.wait_for("plan.created")["data"]["name"] == "Tea"
    with pytest.raises(TimeoutError, match="no plan.created within 0 seconds, but plan.created"):
        inbox.wait_for("plan.created", timeout=0)
    verdicts = [(delivery["signature"], "Tea" in delivery["body"]) for delivery in inbox.deliveries(2)]
    assert verdicts == [("invalid", False), ("valid", True)]


def test_an_inbox_gives_the_first_event_of_more_than_a_page(card_payments_account):
    inbox = card_payments_account.open_inbox()
    for n in range(501):
        card_payments_account.request("POST", "/1/plans", {**PLAN, "name": f"Plan {n}"})
        if n == 0:
            # Events that happen at nearly the same time may come in any order.
            inbox.deliveries(1)
    assert len(inbox.deliveries(501, timeout=30)) == 501
    assert inbox.wait_for("plan.created")["data"]["name"] == "Plan 0"


def test_an_inbox_answers_as_ordered(card_payments_account):
    inbox = card_payments_account.open_inbox()
    inbox.answer(status=503, every=2)
    for name in ("Tea", "Milk"):
        card_payments_account.request("POST", "/1/plans", {**PLAN, "name": name})
        assert inbox.wait_for("plan.created")["data"]["name"] == name
    assert [delivery["status"] for delivery in inbox.deliveries()] == [200, 503]


def test_a_server_has_fixtures_and_a_log_and_ends(tmp_path):
    fixtures, log = tmp_path / "shop.yaml", tmp_path / "server.log"
    fixtures.write_text("plans:\n  tea: { name: Tea, amount: 1000, every: month }\n")
    with library.start(fixtures=fixtures, log=log) as server:
        assert [plan["name"] for plan in server.request("GET", "/1/plans")] == ["Tea"]
        again = library.connect(server.url, server.secret_key)
        assert again.request("GET", "/1/plans") == server.request("GET", "/1/plans")
    with pytest.raises(OSError):
        again.request("GET", "/1/plans")
    assert '"/1/plans"' in log.read_text()


def test_a_server_that_does_not_start_is_an_error(tmp_path, capfd):
    fixtures = tmp_path / "shop.yaml"
    fixtures.write_text("plants:\n")
    with pytest.raises(RuntimeError, match="did not start: exit code 1"):
        library.start(fixtures=fixtures)
    assert "line 1: plants is no section" in capfd.readouterr().err


def test_tests_beside_a_running_server_use_it(pytester, card_payments, monkeypatch):
    monkeypatch.setenv("CARD_PAYMENTS_SECRET_KEY", card_payments.secret_key)
    pytester.makepyfile(
        f"""
        def test_it(card_payments, card_payments_account):
            assert card_payments_account.url == card_payments.url == "{card_payments.url}"
            with open("key", "w") as key:
                key.write(card_payments_account.secret_key)
        """
    )
    pytester.runpytest_subprocess("--card-payments-url", card_payments.url).assert_outcomes(passed=1)
    with pytest.raises(ApiError, match="401 unauthorized"):
        library.connect(card_payments.url, (pytester.path / "key").read_text()).request("GET", "/1/plans")
    monkeypatch.delenv("CARD_PAYMENTS_SECRET_KEY")
    pytester.runpytest_subprocess("--card-payments-url", card_payments.url).assert_outcomes(errors=1)


def test_another_program_may_be_named():
    with pytest.raises(FileNotFoundError):
        library.start(program="/nowhere/card-payments")
