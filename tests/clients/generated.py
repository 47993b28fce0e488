"""The flow of every client, by openapi-generator's client in Python."""

import os
from pathlib import Path

from openapi_client import (
    ApiClient,
    ApiException,
    BrowserCardInput,
    CardInput,
    CardsApi,
    ChargeCapturedEvent,
    ChargeInput,
    ChargesApi,
    Configuration,
    CustomerInput,
    CustomersApi,
    ErrorBody,
    Event,
    PlanInput,
    PlansApi,
    RefundInput,
    RefundsApi,
    SubscriptionInput,
    SubscriptionsApi,
    TransferInput,
    TransfersApi,
)

api = ApiClient(Configuration(host=os.environ["SERVER"], username=os.environ["KEY"], password=""))
charges = ChargesApi(api)
details = {
    "number": "4200000000000000", "expiry_month": 5, "expiry_year": 2030, "cvc": "123", "name": "Roland Robot",
    "address_line1": "42 Sevenoaks St", "address_city": "Lathlain", "address_country": "AU",
}  # fmt: skip


def new_charge(amount: int, **payer) -> ChargeInput:
    return ChargeInput(email="roland@example.com", description="Python", amount=amount, ip_address="203.192.1.172", **payer)


def refused(call, body):
    """Status and body of what is refused."""
    try:
        call(body)
    except ApiException as refusal:
        return refusal.status, refusal.data
    raise AssertionError("it was not refused")


card = CardsApi(api).create_card(BrowserCardInput(**details)).response
charge = charges.create_charge(new_charge(400, card_token=card.token)).response
assert charge.success and charge.amount == 400, charge
inline = charges.create_charge(new_charge(500, card=CardInput(**details))).response
assert inline.card.display_number.endswith("0000"), inline

refund = RefundsApi(api).create_refund(charge.token, refund_input=RefundInput(amount=100)).response
assert (refund.charge, refund.amount) == (charge.token, 100), refund

page = charges.list_charges(per_page=2)
assert [each.token for each in page.response] == [inline.token, charge.token], page

status, body = refused(charges.create_charge, new_charge(400))
assert status == 422 and isinstance(body, ErrorBody) and body.error == "invalid_resource", body
much = TransferInput(description="Too much", amount=1_000_000_000_000, currency="AUD", recipient="self")
status, body = refused(TransfersApi(api).create_transfer, much)
assert (status, body[0].error) == (402, "insufficient_service_balance"), body

customer = CustomersApi(api).create_customer(CustomerInput(email="roland@example.com", card=CardInput(**details))).response
plan = PlansApi(api).create_plan(PlanInput(name="Python", amount=1000, interval=1, interval_unit="month")).response
subscribed = SubscriptionInput(plan_token=plan.token, customer_token=customer.token)
subscription = SubscriptionsApi(api).create_subscription(subscribed).response
assert subscription.state == "active", subscription

webhook = Path(os.environ["WEBHOOK"]).read_text()
event = Event.from_json(webhook)
assert event.type == "charge.captured" and event.data["token"].startswith("ch_"), event
assert ChargeCapturedEvent.from_json(webhook).data.captured, webhook
