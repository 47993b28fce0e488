"""The payment code of a shop, and its tests. Run it with `pytest test_checkout.py`."""

import pytest
from card_payments import ApiError


def pay(account, amount, number="4200000000000000"):
    """What a shop does: it charges a card."""
    card = {
        "number": number, "expiry_month": 12, "expiry_year": 2099, "cvc": "123", "name": "Roland Robot",
        "address_line1": "42 Sevenoaks St", "address_city": "Lathlain", "address_country": "AU",
    }
    order = {"email": "roland@example.com", "description": "Order", "amount": amount, "ip_address": "203.192.1.172"}
    return account.request("POST", "/1/charges", {**order, "card": card})


def test_a_payment_is_reported_by_a_webhook(card_payments_account):
    inbox = card_payments_account.open_inbox()
    charge = pay(card_payments_account, 400)
    event = inbox.wait_for("charge.captured")
    assert event["data"]["token"] == charge["token"]


def test_a_declined_card_is_not_charged(card_payments_account):
    card_payments_account.set_faults(decline="insufficient_funds")
    with pytest.raises(ApiError) as declined:
        pay(card_payments_account, 400)
    assert declined.value.code == "insufficient_funds"


def test_the_money_of_a_payment_is_available_after_some_days(card_payments_account):
    def available():
        return card_payments_account.request("GET", "/1/balance")["available"][0]["amount"]

    before = available()
    pay(card_payments_account, 400)
    assert available() == before
    card_payments_account.move_clock("8d")
    assert available() == before + 363
