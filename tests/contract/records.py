"""Records that exist, made through the API as a caller makes them."""

import base64
import pathlib
import subprocess
import tempfile
import threading
import uuid

import requests

CARD = {
    "number": "4200000000000000", "expiry_month": 5, "expiry_year": 2030, "cvc": "123", "name": "Roland Robot",
    "address_line1": "42 Sevenoaks St", "address_city": "Lathlain", "address_country": "Australia",
}
PAYMENT = {"email": "roland@example.com", "description": "Test", "amount": 400, "ip_address": "203.192.1.172", "card": CARD}
PLAN = {"name": "Coffee plan", "amount": 1000, "interval": 1, "interval_unit": "month"}
BANK_ACCOUNT = {"name": "Mr Roland Robot", "bsb": "806015", "number": "987654321"}
MERCHANT = {
    "contact": {
        "first_name": "Roland", "last_name": "Robot", "phone_number": "0491 570 156", "email": "roland@example.com",
        "password": "correct horse battery staple",
    },
    "entity": {
        "business_registration_number": "51824753556", "full_legal_name": "Robots Pty Ltd", "address_line_1": "42 Sevenoaks St",
        "address_locality": "Lathlain", "address_region": "WA", "address_postal_code": "6454", "address_country_code": "AU",
    },
    "business": {
        "trading_name": "Robots", "description": "Robots for the home", "typical_product_price": "100",
        "transactions_per_month": "20", "annual_transaction_volume": "20000", "sells_physical_goods": True,
        "average_delivery_days": "7", "url": "https://robots.example.com",
    },
    "bank_account": BANK_ACCOUNT,
    "director": {"full_name": "Roland Robot", "contact_number": "0491 570 156", "date_of_birth": "1980-02-29"},
}

# As docs/wallets.md has it.
CERTIFY = """
openssl ecparam -name prime256v1 -genkey -noout -out authority.key
openssl req -x509 -new -key authority.key -subj "/CN=Authority" -days 30 -out authority.pem
openssl x509 -req -in request.csr -CA authority.pem -CAkey authority.key -CAcreateserial -days 30 \\
  -subj "/UID=merchant.com.example.shop" -out certificate.pem
"""


class Records:
    """One server, asked with one key."""

    def __init__(self, url, key):
        self.url, self.key = url, key
        self.kept, self.local = {}, threading.local()
        self.makers = {
            "account_token": lambda: self.post("/1/sandbox/accounts", {})["token"],
            "auth_token": lambda: self.post("/1/authorisations", PAYMENT)["token"],
            "card_token": lambda: self.post("/1/cards", CARD)["token"],
            "certificate_token": lambda: self.post("/1/walletA_pay/certificates", {})["token"],
            "charge_token": lambda: self.charge()["token"],
            "customer_token": self.customer,
            "deposit_token": lambda: self.post("/1/sandbox/deposits", {"amount": 5000})["token"],
            "dispute_token": lambda: self.post("/1/sandbox/disputes", {"charge_token": self.charge()["token"]})["token"],
            "domain_token": lambda: self.post("/1/walletA_pay/domains", {"domain_name": f"{uuid.uuid4()}.example.com"})["token"],
            "event_token": lambda: self.newest("/1/events"),
            "file_token": self.file,
            "inbox_token": self.inbox,
            "key_token": lambda: self.post("/1/sandbox/keys", {"name": "K", "rights": {"charges": "read"}})["token"],
            "merchant_token": lambda: self.post("/1/merchants", MERCHANT)["token"],
            "plan_token": lambda: self.post("/1/plans", PLAN | {"name": str(uuid.uuid4())})["token"],
            "recipient_token": lambda: self.post(
                "/1/recipients", {"email": "r@example.com", "name": "R", "bank_account": BANK_ACCOUNT})["token"],
            "refund_token": lambda: self.post(f"/1/charges/{self.charge()['token']}/refunds", {"amount": 100})["token"],
            "session_token": self.session,
            "sub_token": self.subscription,
            "transfer_token": lambda: self.post(
                "/1/transfers", {"description": "T", "amount": 100, "currency": "AUD", "recipient": "self"})["token"],
            "webhook_endpoint_token": self.endpoint,
            "webhook_token": self.webhook,
        }
        # Where the record has to be in another state than it is made in, or belong to another record.
        self.of_operation = {
            ("PUT", "/1/charges/{charge_token}/void"): lambda: {"charge_token": self.charge(capture=False)["token"]},
            ("PUT", "/1/charges/{charge_token}/capture"): lambda: {"charge_token": self.charge(capture=False)["token"]},
            ("PUT", "/1/subscriptions/{sub_token}/reactivate"): lambda: {"sub_token": self.cancelled()},
            ("DELETE", "/1/customers/{customer_token}/cards/{card_token}"): self.second_card,
            ("DELETE", "/1/customers/{customer_token}/subscriptions/{sub_token}"): self.customers_subscription,
        }

    def ask(self, method, path, **sent):
        if not hasattr(self.local, "session"):
            self.local.session = requests.Session()
        answer = self.local.session.request(method, self.url + path, auth=(self.key, ""), timeout=90, **sent)
        if not answer.ok:
            raise RuntimeError(f"{method} {path}: {answer.status_code} {answer.text}")
        return answer.json()["response"] if answer.content else None

    def post(self, path, body):
        return self.ask("POST", path, json=body)

    def charge(self, **more):
        return self.post("/1/charges", PAYMENT | more)

    def newest(self, path):
        return self.ask("GET", path)[0]["token"]

    def customer(self):
        return self.post("/1/customers", {"email": "r@example.com", "card": CARD})["token"]

    def second_card(self):
        customer = self.customer()
        return {"customer_token": customer, "card_token": self.post(f"/1/customers/{customer}/cards", CARD)["token"]}

    def subscription(self):
        return self.customers_subscription()["sub_token"]

    def customers_subscription(self):
        plan, customer = self.makers["plan_token"](), self.customer()
        subscription = self.post("/1/subscriptions", {"plan_token": plan, "customer_token": customer})
        return {"customer_token": customer, "sub_token": subscription["token"]}

    def cancelled(self):
        token = self.subscription()
        self.ask("DELETE", f"/1/subscriptions/{token}")
        return token

    def session(self):
        """Of a payment that its cardholder has approved."""
        wanted = {"enabled": True, "callback_url": "https://shop.example.com/done"}
        page = self.charge(three_d_secure=wanted)["redirect_url"]
        back = requests.post(page, data={"decision": "approve"}, allow_redirects=False, timeout=90)
        return back.headers["location"].split("session_token=")[1]

    def file(self):
        pixel = base64.b64decode(
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=")
        return self.ask("POST", "/1/files", data={"purpose": "dispute_evidence"},
            files={"file": ("pixel.png", pixel, "image/png")})["token"]

    def certificate(self):
        """Of a fresh key, from an authority of nobody's."""
        request = self.post("/1/walletA_pay/certificates", {})["certificate_signing_request"]
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "request.csr").write_text(request)
            subprocess.run(["sh", "-c", CERTIFY], cwd=folder, check=True, capture_output=True)
            return pathlib.Path(folder, "certificate.pem").read_text()

    def endpoint(self):
        """An account has five at most: the oldest go."""
        for old in self.ask("GET", "/1/webhook_endpoints")[3:]:
            self.ask("DELETE", f"/1/webhook_endpoints/{old['token']}")
        # No server listens there, so its webhooks are refused at once and may be replayed.
        return self.post("/1/webhook_endpoints", {"url": "http://127.0.0.1:9/"})["token"]

    def inbox(self):
        """An account has ten at most: the oldest go."""
        for old in self.ask("GET", "/1/sandbox/inboxes")[8:]:
            self.ask("DELETE", f"/1/sandbox/inboxes/{old['token']}")
        return self.post("/1/sandbox/inboxes", {})["token"]

    def webhook(self):
        self.endpoint()
        self.customer()
        return self.newest("/1/webhooks")

    def fill(self, case, exists):
        """Put tokens that exist where a case has others. What only reads shares its records, all else has its own."""
        operation = (case.method.upper(), case.path)
        path = case.path_parameters or {}
        wanted = {name for name in path if name in self.makers and not exists(path[name])}
        if wanted and operation in self.of_operation:
            path.update(self.of_operation[operation]())
        else:
            path.update({name: self.token(name, operation) for name in wanted})
        query = case.query or {}
        if "session_token" in query:
            query["session_token"] = self.token("session_token", operation)
        if isinstance(case.body, dict):
            if "pem" in case.body:
                case.body["pem"] = self.certificate()
            for name in ("plan_token", "customer_token", "charge_token"):
                if case.path.endswith(("subscriptions", "sandbox/disputes")) and name in case.body:
                    case.body[name] = self.makers[name]()

    def token(self, name, operation):
        if operation[0] not in ("GET", "HEAD"):
            return self.makers[name]()
        if name not in self.kept:
            self.kept[name] = self.makers[name]()
        return self.kept[name]
