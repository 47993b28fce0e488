// The payment code of a shop, and its tests. Run it with `node --test`.
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { start } from "card-payments";

/** What a shop does: it charges a card. */
function pay(account, amount) {
  return account.request("POST", "/1/charges", {
    email: "roland@example.com",
    description: "Order",
    amount,
    ip_address: "203.192.1.172",
    card: {
      number: "4200000000000000",
      expiry_month: 12,
      expiry_year: 2099,
      cvc: "123",
      name: "Roland Robot",
      address_line1: "42 Sevenoaks St",
      address_city: "Lathlain",
      address_country: "AU",
    },
  });
}

let server, account;
before(async () => (server = await start()));
after(() => server.stop());
beforeEach(async () => (account = await server.createAccount()));
afterEach(() => account.delete());

test("a payment is reported by a webhook", async () => {
  const inbox = await account.openInbox();
  const charge = await pay(account, 400);
  const event = await inbox.waitFor("charge.captured");
  assert.equal(event.data.token, charge.token);
});

test("a declined card is not charged", async () => {
  await account.setFaults({ decline: "insufficient_funds" });
  await assert.rejects(pay(account, 400), { code: "insufficient_funds" });
});

test("the money of a payment is available after some days", async () => {
  const available = async () => (await account.request("GET", "/1/balance")).available[0].amount;
  const before = await available();
  await pay(account, 400);
  assert.equal(await available(), before);
  await account.moveClock("8d");
  assert.equal(await available(), before + 363);
});
