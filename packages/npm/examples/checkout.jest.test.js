// The payment code of a shop, and its tests. Run it with `npx jest`.
const { start } = require("card-payments");

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
beforeAll(async () => (server = await start()));
afterAll(() => server.stop());
beforeEach(async () => (account = await server.createAccount()));
afterEach(() => account.delete());

test("a payment is reported by a webhook", async () => {
  const inbox = await account.openInbox();
  const charge = await pay(account, 400);
  const event = await inbox.waitFor("charge.captured");
  expect(event.data.token).toBe(charge.token);
});

test("a declined card is not charged", async () => {
  await account.setFaults({ decline: "insufficient_funds" });
  await expect(pay(account, 400)).rejects.toMatchObject({ code: "insufficient_funds" });
});

test("the money of a payment is available after some days", async () => {
  const available = async () => (await account.request("GET", "/1/balance")).available[0].amount;
  const before = await available();
  await pay(account, 400);
  expect(await available()).toBe(before);
  await account.moveClock("8d");
  expect(await available()).toBe(before + 363);
});
