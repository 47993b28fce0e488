"""The client against a real server: see packages/clients/beside.py."""

import asyncio
import json
import os
from pathlib import Path

import pytest
from card_payments_client import (
    ApiError,
    CardDeclined,
    InvalidResource,
    NoResponse,
    NotFound,
    ServerError,
    WebhookRefused,
    connect,
    items,
    verify_webhook,
)
from card_payments_client.api.cards import create_card
from card_payments_client.api.charges import capture_charge, create_charge, get_charge, list_charges
from card_payments_client.api.plans import create_plan, list_plans
from card_payments_client.api.refunds import create_refund
from card_payments_client.models import (
    BrowserCardInput,
    CardInput,
    ChargeCapturedEvent,
    ChargeInput,
    Event,
    IntervalUnit,
    PlanInput,
    RefundInput,
)

CARD = {
    "number": "4200000000000000", "expiry_month": 12, "expiry_year": 2099, "cvc": "123", "name": "Roland Robot",
    "address_line1": "42 Sevenoaks St", "address_city": "Lathlain", "address_country": "AU",
}  # fmt: skip
client = connect(os.environ["SERVER"], os.environ["KEY"])


def order(amount=400, **others):
    others = others or {"card": CardInput(**CARD)}
    return ChargeInput(email="roland@example.com", description="Order", amount=amount, ip_address="203.192.1.172", **others)


def charges():
    return [charge.token for charge in items(list_charges, client=client, per_page=2)]


def test_a_card_is_stored_charged_captured_and_refunded():
    card = create_card.sync(client=client, body=BrowserCardInput(**CARD)).response
    charge = create_charge.sync(client=client, body=order(card_token=card.token, capture=False)).response
    assert not charge.captured
    assert capture_charge.sync(charge.token, client=client).response.captured
    refund = create_refund.sync(charge.token, client=client, body=RefundInput(amount=100)).response
    assert (refund.charge, refund.amount) == (charge.token, 100)


def test_a_list_gives_the_items_of_all_pages():
    before = charges()
    made = [create_charge.sync(client=client, body=order(amount)).response.token for amount in (100, 200, 300)]
    assert charges() == [*reversed(made), *before]


def test_a_short_list_gives_the_items_of_all_pages():
    for name in ("One", "Two", "Three"):
        create_plan.sync(client=client, body=PlanInput(name=name, amount=1000, interval=1, interval_unit=IntervalUnit.MONTH))
    assert {plan.name for plan in items(list_plans, client=client, per_page=1)} == {"One", "Two", "Three"}


def test_a_charge_whose_connection_is_cut_is_made_once():
    before = charges()
    cut = connect(os.environ["CUT"], os.environ["KEY"])
    charge = create_charge.sync(client=cut, body=order()).response
    assert charges() == [charge.token, *before]


def test_a_charge_whose_connection_is_cut_is_made_once_by_asyncio():
    before = charges()
    cut = connect(os.environ["CUT"], os.environ["KEY"])
    charge = asyncio.run(create_charge.asyncio(client=cut, body=order())).response
    assert charges() == [charge.token, *before]


def test_requests_take_the_proxy_of_the_environment(monkeypatch):
    before = charges()
    monkeypatch.setenv("http_proxy", os.environ["CUT"].removeprefix("http://"))
    monkeypatch.setenv("no_proxy", "localhost")
    charge = create_charge.sync(client=connect("http://payments.invalid", os.environ["KEY"]), body=order()).response
    assert charges() == [charge.token, *before]


def test_a_charge_without_a_response_is_repeated_under_the_key_of_its_error():
    before = charges()
    cut = connect(os.environ["LOST"], os.environ["KEY"])
    for pay in (create_charge.sync, lambda **given: asyncio.run(create_charge.asyncio(**given))):
        with pytest.raises(NoResponse) as lost:
            pay(client=cut, body=order())
        charge = create_charge.sync(client=client, body=order(), idempotency_key=lost.value.idempotency_key).response
        before = [charge.token, *before]
        assert charges() == before


def test_a_charge_that_was_approved_but_lost_is_made_once():
    before = charges()
    with pytest.raises(ServerError) as lost:
        create_charge.sync(client=client, body=order(), idempotency_key="lost", sandbox_outcome="approved_but_lost")
    assert (lost.value.status, lost.value.code, lost.value.idempotency_key) == (502, "gateway_error", "lost")
    charge = create_charge.sync(client=client, body=order(), idempotency_key="lost").response
    again = create_charge.sync(client=client, body=order(), idempotency_key="lost").response
    assert charge.success and again.token == charge.token
    assert [token for token in charges() if get_charge.sync(token, client=client).response.success] == [
        charge.token,
        *(token for token in before if get_charge.sync(token, client=client).response.success),
    ]


def test_a_refusal_is_an_exception_of_its_own():
    with pytest.raises(CardDeclined) as declined:
        create_charge.sync(client=client, body=order(), sandbox_outcome="insufficient_funds")
    assert (declined.value.status, declined.value.code) == (400, "insufficient_funds")
    assert declined.value.request_id and declined.value.charge_token.startswith("ch_")
    with pytest.raises(InvalidResource) as invalid:
        create_charge.sync(client=client, body=order(amount=0))
    assert [message["param"] for message in invalid.value.messages] == ["amount"]
    with pytest.raises(InvalidResource):
        create_plan.sync(client=client, body=PlanInput(name=" ", amount=400, interval=1, interval_unit=IntervalUnit.MONTH))
    with pytest.raises(NotFound):
        get_charge.sync("ch_AAAAAAAAAAAAAAAAAAAAAA", client=client)
    with pytest.raises(ApiError) as stranger:
        get_charge.sync("ch_AAAAAAAAAAAAAAAAAAAAAA", client=connect(os.environ["SERVER"], "sk_test_nobody"))
    assert stranger.value.code == "unauthorized"


def test_a_webhook_is_verified():
    webhook = json.loads(Path(os.environ["WEBHOOK"]).read_text())
    headers, body, key = webhook["headers"], webhook["body"].encode(), webhook["key"]
    event = verify_webhook(headers, body, key)
    # A type checker knows now that this is a Charge.
    assert isinstance(event, ChargeCapturedEvent)
    assert event.type_ == "charge.captured" and event.data.token.startswith("ch_")
    for sent in webhook["events"]:
        known = verify_webhook(sent["headers"], sent["body"].encode(), key)
        assert not isinstance(known, Event) and known.data.token
    newer = verify_webhook(webhook["newer"]["headers"], webhook["newer"]["body"].encode(), key)
    assert isinstance(newer, Event) and newer.type_ == "charge.of_tomorrow" and newer.data["token"] == "new_1"
    other = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    example = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    refused = [
        (headers, body, other, "does not fit"),
        (headers, body.replace(b"400", b"4000"), key, "does not fit"),
        ({**headers, "webhook-timestamp": str(int(headers["webhook-timestamp"]) + 1)}, body, key, "does not fit"),
        (example, b'{"test": 2432232314}', other, "too old"),
        ({**headers, "webhook-timestamp": "9" * 400}, body, key, "too old"),
        ({}, body, key, "headers"),
        (headers, body, "whsec_", "none of an endpoint"),
        (headers, body, "", "none of an endpoint"),
    ]
    for *given, reason in refused:
        with pytest.raises(WebhookRefused, match=reason):
            verify_webhook(*given)
