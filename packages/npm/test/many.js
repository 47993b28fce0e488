// Tests for Vitest and Jest, each with an account of its own. Their server is the file's, or that of `card-payments exec`.
const { appendFileSync } = require("node:fs");
const { connect, start } = require("card-payments");

const { CARD_PAYMENTS_URL: url, CARD_PAYMENTS_SECRET_KEY: secretKey } = process.env;

let server, account;
beforeAll(async () => {
  server = url === undefined ? await start() : connect(url, secretKey);
  appendFileSync("servers", `${server.secretKey}\n`);
});
afterAll(() => server.stop());
beforeEach(async () => (account = await server.createAccount()));
afterEach(() => account.delete());

test.each(Array.from({ length: 5 }, (_, order) => order))("account %i is empty", async (order) => {
  await account.request("POST", "/1/plans", { name: `Tea ${order}`, amount: 1000, interval: 1, interval_unit: "month" });
  expect(await account.request("GET", "/1/plans")).toHaveLength(1);
});
