"""The flow of every client, by openapi-python-client."""

import base64
import json
import os
from pathlib import Path

from client import AuthenticatedClient
from client.api.cards import create_card
from client.api.charges import create_charge, list_charges
from client.api.customers import create_customer
from client.api.plans import create_plan
from client.api.refunds import create_refund
from client.api.subscriptions import create_subscription
from client.api.transfers import create_transfer
from client.models import (
    BrowserCardInput,
    CardInput,
    ChargeCapturedEvent,
    ChargeInput,
    CustomerInput,
    Event,
    IntervalUnit,
    PlanInput,
    RefundInput,
    SubscriptionInput,
    TransferInput,
)

key = base64.b64encode(f"{os.environ['KEY']}:".encode()).decode()
api = AuthenticatedClient(base_url=os.environ["SERVER"], token=key, prefix="Basic", timeout=60)
details = {
    "number": "4200000000000000", "expiry_month": 5, "expiry_year": 2030, "cvc": "123", "name": "Roland Robot",
    "address_line1": "42 Sevenoaks St", "address_city": "Lathlain", "address_country": "AU",
}  # fmt: skip


def new_charge(amount: int, **payer) -> ChargeInput:
    return ChargeInput(email="roland@example.com", description="Python", amount=amount, ip_address="203.192.1.172", **payer)


card = create_card.sync(client=api, body=BrowserCardInput(**details)).response
charge = create_charge.sync(client=api, body=new_charge(400, card_token=card.token)).response
assert charge.success and charge.amount == 400, charge
inline = create_charge.sync(client=api, body=new_charge(500, card=CardInput(**details))).response
assert inline.card.display_number.endswith("0000"), inline

refund = create_refund.sync(charge.token, client=api, body=RefundInput(amount=100)).response
assert (refund.charge, refund.amount) == (charge.token, 100), refund

page = list_charges.sync(client=api, per_page=2)
assert [each.token for each in page.response] == [inline.token, charge.token], page
assert page.pagination.per_page == 2, page

invalid = create_charge.sync_detailed(client=api, body=new_charge(400))
assert (invalid.status_code, invalid.parsed.error) == (422, "invalid_resource"), invalid
assert invalid.parsed.messages[0].message, invalid

transfer = TransferInput(description="Too much", amount=1_000_000_000_000, currency="AUD", recipient="self")
poor = create_transfer.sync_detailed(client=api, body=transfer)
assert (poor.status_code, poor.parsed[0].error) == (402, "insufficient_service_balance"), poor

customer = create_customer.sync(client=api, body=CustomerInput(email="roland@example.com", card=CardInput(**details))).response
plan = create_plan.sync(client=api, body=PlanInput(name="Python", amount=1000, interval=1, interval_unit=IntervalUnit.MONTH)).response
subscribed = SubscriptionInput(plan_token=plan.token, customer_token=customer.token)
subscription = create_subscription.sync(client=api, body=subscribed).response
assert subscription.state == "active", subscription

webhook = json.loads(Path(os.environ["WEBHOOK"]).read_text())
event = Event.from_dict(webhook)
assert event.type_ == "charge.captured" and event.data["token"].startswith("ch_"), event
assert ChargeCapturedEvent.from_dict(webhook).data.captured, webhook
# What joins later is read, too.
assert Event.from_dict(webhook | {"type": "charge.praised", "data": {"praise": 1}}).data["praise"] == 1
