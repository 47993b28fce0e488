// The helpers, against the program.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { connect, start } from "card-payments";

const require = createRequire(import.meta.url);
const PLAN = { name: "Tea", amount: 1000, interval: 1, interval_unit: "month" };
const folder = mkdtempSync(join(tmpdir(), "card-payments-test-"));
let server;
before(async () => (server = await start()));
after(() => server.stop());
after(() => rmSync(folder, { recursive: true }));

test("each test has an account of its own", async () => {
  const [one, other] = await Promise.all([server.createAccount(), server.createAccount()]);
  await one.request("POST", "/1/plans", PLAN);
  assert.equal((await one.request("GET", "/1/plans")).length, 1);
  assert.deepEqual(await other.request("GET", "/1/plans"), []);
  assert.match(one.publishableKey, /^pk_/);
  await Promise.all([one.delete(), other.delete()]);
  await assert.rejects(one.request("GET", "/1/plans"), { name: "ApiError", status: 401, code: "unauthorized" });
});

test("an error says what was refused", async () => {
  const refused = server.request("POST", "/1/plans", {});
  await assert.rejects(refused, /^ApiError: POST \/1\/plans: 422 unprocessable_entity: Validation failure/);
});

test("a clock is moved by a span or to a time", async () => {
  const account = await server.createAccount();
  await account.moveClock("1d");
  assert.deepEqual(await account.moveClock({ to: "2090-01-01" }), []);
  assert.match((await account.request("GET", "/1/sandbox/clock")).now, /^2090-01-01/);
  await account.delete();
});

test("an inbox gives events that are signed and shows all that arrives", async () => {
  const account = await server.createAccount();
  const inbox = await account.openInbox();
  assert.deepEqual(await inbox.deliveries(), []);
  const headers = { "webhook-id": "evt_1", "webhook-timestamp": "0", "webhook-signature": "v1,AAAA" };
  await fetch(inbox.url, { method: "POST", headers, body: '{"type": "plan.created", "token": "evt_1"}' });
  await account.request("POST", "/1/plans", PLAN);
  assert.equal((await inbox.waitFor("plan.created")).data.name, "Tea");
  await assert.rejects(inbox.waitFor("plan.created", { timeout: 0 }), /no plan.created within 0 seconds, but plan.created/);
  const verdicts = (await inbox.deliveries(2)).map(({ signature, body }) => [signature, body.includes("Tea")]);
  assert.deepEqual(verdicts, [["invalid", false], ["valid", true]]);
  await account.delete();
});

test("an inbox answers as ordered", async () => {
  const account = await server.createAccount();
  const inbox = await account.openInbox();
  await inbox.answer({ status: 503, every: 2 });
  for (const name of ["Tea", "Milk"]) {
    await account.request("POST", "/1/plans", { ...PLAN, name });
    assert.equal((await inbox.waitFor("plan.created")).data.name, name);
  }
  assert.deepEqual((await inbox.deliveries()).map(({ status }) => status), [200, 503]);
  await account.delete();
});

test("a server has fixtures and a log and ends", async () => {
  const [fixtures, log] = [join(folder, "shop.yaml"), join(folder, "server.log")];
  writeFileSync(fixtures, "plans:\n  tea: { name: Tea, amount: 1000, every: month }\n");
  const own = await start({ fixtures, log });
  const again = connect(own.url + "/", own.secretKey);
  assert.deepEqual((await again.request("GET", "/1/plans")).map((plan) => plan.name), ["Tea"]);
  await own.stop();
  await own.stop();
  await assert.rejects(again.request("GET", "/1/plans"), TypeError);
  assert.match(readFileSync(log, "utf8"), /"\/1\/plans"/);
});

test("a server that does not start is an error", async () => {
  const fixtures = join(folder, "wrong.yaml");
  writeFileSync(fixtures, "plants:\n");
  await assert.rejects(start({ fixtures }), /did not start: exit code 1/);
  await assert.rejects(start({ program: "/nowhere/card-payments" }), { code: "ENOENT" });
});

test("without the package of the platform the start says which one is missing and how to get it", () => {
  const module = join(folder, "node_modules/card-payments");
  cpSync(join(require.resolve("card-payments"), ".."), module, { recursive: true, dereference: true });
  const run = (...args) =>
    spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8", env: { ...process.env, PATH: "/nowhere" } });
  const { version } = require("card-payments/package.json");
  const name = `@card-payments/${process.platform}-${process.arch}`;
  const missing = `${name}, the package that holds the program, is not installed, because optional dependencies were left out`;
  const remedy = `npm install ${name}@${version}, or everything again with --include=optional`;
  const start = 'require("card-payments").start().catch(({ message }) => console.log(message))';
  const started = run("-e", start).stdout;
  for (const part of [missing, remedy, "nor is card-payments on the PATH"]) assert.ok(started.includes(part), started);
  const { status, stderr } = run(join(module, "bin.js"), "--version");
  assert.equal(status, 127);
  assert.equal(stderr, `error: ${missing}: install it by name, ${remedy}\n`);
  const elsewhere = run("-e", `Object.defineProperty(process, "platform", { value: "sunos" }); ${start}`).stdout;
  assert.match(elsewhere, /^there is no program for sunos-\w+ in a package, only for .*linux-\w+.*: compile it/);
});

test("a test run that forgets to stop its server ends, and the server with it", async () => {
  const script = 'require("card-payments").start().then((server) => console.log(server.url))';
  const { status, stdout } = spawnSync(process.execPath, ["-e", script], { encoding: "utf8", timeout: 240_000 });
  assert.equal(status, 0);
  for (;;) {
    const answer = await fetch(stdout.trim() + "/healthz").catch(() => undefined);
    if (answer === undefined) break;
  }
});

test("the program is on the PATH, and its exit code and signals are the program's", () => {
  const bin = join(require.resolve("card-payments"), "../bin.js");
  const run = (...args) => spawnSync(process.execPath, [bin, ...args], { encoding: "utf8" });
  assert.match(run("--version").stdout, /^card-payments /);
  assert.equal(run("exec", "--", "sh", "-c", "exit 7").status, 7);
  assert.equal(run("exec", "--", "sh", "-c", "kill -TERM $$").status, 143);
});
