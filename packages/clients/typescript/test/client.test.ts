/** The client against a real server: see packages/clients/beside.py. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { CardDeclined, InvalidResource, NotFound, type Schemas, ServerError, Unauthorized } from "card-payments-client";
import { NoResponse, WebhookRefused, connect, items, verifyWebhook } from "card-payments-client";

const { SERVER, KEY, CUT, LOST, WEBHOOK } = process.env as Record<string, string>;
const client = connect(SERVER!, KEY!);
const card = {
  number: "4200000000000000", expiry_month: 12, expiry_year: 2099, cvc: "123", name: "Roland Robot",
  address_line1: "42 Sevenoaks St", address_city: "Lathlain", address_country: "AU",
};
const order = (others: Partial<Schemas["ChargeInput"]> = { card }) => ({
  email: "roland@example.com", description: "Order", amount: 400, ip_address: "203.192.1.172", ...others,
});

async function charges(): Promise<Schemas["Charge"][]> {
  const found: Schemas["Charge"][] = [];
  for await (const charge of items(client.listCharges, { query: { per_page: 2 } })) found.push(charge);
  return found;
}
const tokens = async () => (await charges()).map(({ token }) => token);

async function refused<E extends Error>(call: Promise<unknown>, kind: abstract new (...args: never) => E): Promise<E> {
  const error = await call.then(() => assert.fail("it was not refused"), (error: unknown) => error);
  assert.ok(error instanceof kind, `${error}`);
  return error;
}

test("a card is stored, charged, captured and refunded", async () => {
  const { token } = (await client.createCard({ body: card })).response;
  const charge = (await client.createCharge({ body: order({ card_token: token, capture: false }) })).response;
  assert.ok("captured" in charge && !charge.captured);
  const path = { charge_token: charge.token };
  assert.ok((await client.captureCharge({ path })).response.captured);
  const refund = (await client.createRefund({ path, body: { amount: 100 } })).response;
  assert.deepEqual([refund.charge, refund.amount], [charge.token, 100]);
});

test("a list gives the items of all pages", async () => {
  const before = await tokens();
  for (const amount of [100, 200, 300]) await client.createCharge({ body: order({ card, amount }) });
  const after = await charges();
  assert.deepEqual(after.slice(0, 3).map(({ amount }) => amount), [300, 200, 100]);
  assert.deepEqual(after.slice(3).map(({ token }) => token), before);
});

test("a charge whose connection is cut is made once", async () => {
  const before = await tokens();
  const charge = (await connect(CUT!, KEY!).createCharge({ body: order() })).response;
  assert.deepEqual(await tokens(), [charge.token, ...before]);
});

test("a charge without a response is repeated under the key of its error", async () => {
  const before = await tokens();
  const { idempotencyKey } = await refused(connect(LOST!, KEY!).createCharge({ body: order() }), NoResponse);
  const header = { "Idempotency-Key": idempotencyKey! };
  const charge = (await client.createCharge({ body: order(), header })).response;
  assert.deepEqual(await tokens(), [charge.token, ...before]);
});

test("a charge that was approved but lost is made once", async () => {
  const paid = async () => (await charges()).filter(({ success }) => success).map(({ token }) => token);
  const before = await paid();
  const header = { "Idempotency-Key": "lost" };
  const lost = client.createCharge({ body: order(), header: { ...header, "Sandbox-Outcome": "approved_but_lost" } });
  const { status, code, idempotencyKey } = await refused(lost, ServerError);
  assert.deepEqual([status, code, idempotencyKey], [502, "gateway_error", "lost"]);
  const charge = (await client.createCharge({ body: order(), header })).response;
  const again = (await client.createCharge({ body: order(), header })).response;
  assert.equal(again.token, charge.token);
  assert.deepEqual(await paid(), [charge.token, ...before]);
});

test("a refusal is an error of its own", async () => {
  const header = { "Sandbox-Outcome": "insufficient_funds" };
  const declined = await refused(client.createCharge({ body: order(), header }), CardDeclined);
  assert.deepEqual([declined.status, declined.code], [400, "insufficient_funds"]);
  assert.match(declined.chargeToken ?? "", /^ch_/);
  assert.ok(declined.requestId);
  const invalid = await refused(client.createCharge({ body: order({ card, amount: 0 }) }), InvalidResource);
  assert.deepEqual(invalid.messages.map(({ param }) => param), ["amount"]);
  await refused(client.createPlan({ body: { name: " ", amount: 400, interval: 1, interval_unit: "month" } }), InvalidResource);
  const path = { charge_token: "ch_AAAAAAAAAAAAAAAAAAAAAA" };
  await refused(client.getCharge({ path }), NotFound);
  await refused(connect(SERVER!, "sk_test_nobody").getCharge({ path }), Unauthorized);
});

test("a request ends with its signal", async () => {
  await assert.rejects(client.listCharges({ signal: AbortSignal.abort() }), { name: "AbortError" });
});

test("a webhook is verified", () => {
  type Sent = { headers: Record<string, string>; body: string };
  const { headers, body, key, newer } = JSON.parse(readFileSync(WEBHOOK!, "utf8")) as Sent & { key: string; newer: Sent };
  const event = verifyWebhook(headers, body, key);
  // The type tells the compiler which record this is.
  assert.ok(event.type === "charge.captured");
  assert.equal(event.data.captured, true);
  assert.equal(verifyWebhook(new Headers(headers), Buffer.from(body), key).token, event.token);
  // One of a later version is read as well.
  assert.equal(verifyWebhook(newer.headers, newer.body, key).type, "charge.of_tomorrow");
  const other = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const example = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  };
  const later = { ...headers, "webhook-timestamp": `${Number(headers["webhook-timestamp"]) + 1}` };
  const cases: [Record<string, string>, string, string, RegExp][] = [
    [headers, body, other, /does not fit/],
    [headers, body.replace("400", "4000"), key, /does not fit/],
    [later, body, key, /does not fit/],
    [example, '{"test": 2432232314}', other, /too old/],
    [{}, body, key, /headers/],
    [headers, body, "whsec_", /none of an endpoint/],
    [headers, body, "", /none of an endpoint/],
  ];
  for (const [headers, body, key, reason] of cases) {
    assert.throws(
      () => verifyWebhook(headers, body, key),
      (error) => error instanceof WebhookRefused && reason.test(error.message),
    );
  }
});

test("a list below a record gives its items", async () => {
  const { token } = (await client.createCharge({ body: order() })).response;
  const path = { charge_token: token };
  for (const amount of [100, 200]) await client.createRefund({ path, body: { amount } });
  const amounts: number[] = [];
  for await (const { amount } of items(client.listChargeRefunds, { path, query: { per_page: 1 } })) amounts.push(amount);
  assert.deepEqual(amounts, [200, 100]);
});
