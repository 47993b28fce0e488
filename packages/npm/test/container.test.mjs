// The module for Testcontainers, against its real classes. No container starts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { start } from "card-payments";
import { CardPaymentsContainer, StartedCardPaymentsContainer } from "card-payments/testcontainers.js";

test("each container has a key of its own", () => {
  const [one, other] = [new CardPaymentsContainer(), new CardPaymentsContainer("shop/card-payments")].map(
    ({ environment }) => environment.CARD_PAYMENTS_SECRET_KEY,
  );
  assert.match(one, /^sk_test_[0-9a-f]{32}$/);
  assert.notEqual(one, other);
});

test("a started container gives its server", async () => {
  const server = await start();
  const { hostname, port } = new URL(server.url);
  const getMappedPort = (inside) => ({ 8080: port })[inside];
  const started = new StartedCardPaymentsContainer({ getHost: () => hostname, getMappedPort }, server.secretKey);
  const account = await started.connect().createAccount();
  await account.delete();
  await server.stop();
});
