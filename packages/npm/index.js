"use strict";

const { spawn } = require("node:child_process");
const { once } = require("node:events");
const { createInterface } = require("node:readline");
const { Inbox } = require("./inbox.js");
const installed = require("./program.js");

/** The server refused a request. */
class ApiError extends Error {
  constructor(call, status, body) {
    const error = Array.isArray(body) ? body[0] : body;
    super(`${call}: ${status} ${error.error}: ${error.error_description}`);
    Object.assign(this, { name: "ApiError", status, code: error.error, body });
  }
}

async function start({ fixtures, sample = false, log, program = installed.program() } = {}) {
  const args = ["exec", "--json"];
  if (fixtures !== undefined) args.push("--fixtures", fixtures);
  if (sample) args.push("--sample");
  if (log !== undefined) args.push("--log", log);
  // The server ends with its input. In a group of its own it gets no Ctrl-C before the tests have ended.
  const child = spawn(program ?? "card-payments", args, { stdio: ["pipe", "pipe", "inherit"], detached: true });
  const lines = createInterface({ input: child.stdout });
  const line = once(lines, "line").then(([text]) => JSON.parse(text));
  const ended = once(child, "exit").then(
    ([code]) => {
      throw new Error(`${program ?? "card-payments"} did not start: exit code ${code}`);
    },
    (cause) => {
      throw program !== undefined ? cause : new Error(`${installed.missing()}; nor is card-payments on the PATH`, { cause });
    },
  );
  ended.catch(() => {});
  line.catch(() => {});
  const { listening, secret_key, publishable_key } = await Promise.race([line, ended]);
  // A test run that forgets to stop the server ends nevertheless, and the server with it.
  for (const handle of [child, child.stdin, child.stdout]) handle.unref();
  return new Server(listening, secret_key, publishable_key, child);
}

function connect(url, secretKey) {
  return new Server(url.replace(/\/$/, ""), secretKey);
}

class Server {
  #child;

  constructor(url, secretKey, publishableKey, child) {
    Object.assign(this, { url, secretKey, publishableKey });
    this.#child = child;
  }

  async createAccount() {
    const { token, secret_key, publishable_key } = await this.request("POST", "/1/sandbox/accounts", {});
    return new Account(this, token, secret_key, publishable_key);
  }

  request(method, path, body, headers) {
    return request(this.url, this.secretKey, method, path, body, headers);
  }

  async stop() {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.ref();
    const ended = once(child, "exit");
    child.stdin.end();
    await ended;
  }
}

class Account {
  #server;

  constructor(server, token, secretKey, publishableKey) {
    this.#server = server;
    Object.assign(this, { url: server.url, token, secretKey, publishableKey });
  }

  request(method, path, body, headers) {
    return request(this.url, this.secretKey, method, path, body, headers);
  }

  async moveClock(move) {
    const ran = [];
    let body = typeof move === "string" ? { advance: move } : move;
    for (;;) {
      const moved = await this.request("PUT", "/1/sandbox/clock", body);
      ran.push(...moved.ran);
      if (moved.complete) return ran;
      body = { to: moved.to };
    }
  }

  setFaults(faults) {
    return this.request("PUT", "/1/sandbox/acquirer", faults);
  }

  openInbox() {
    return Inbox.open(this);
  }

  delete() {
    return this.#server.request("DELETE", `/1/sandbox/accounts/${this.token}`);
  }
}

async function request(url, key, method, path, body, headers) {
  const authorization = `Basic ${Buffer.from(`${key}:`).toString("base64")}`;
  const response = await fetch(url + path, {
    method,
    headers: { "content-type": "application/json", ...headers, authorization },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  const json = text === "" ? {} : JSON.parse(text);
  if (!response.ok) throw new ApiError(`${method} ${path}`, response.status, json);
  return json.response;
}

module.exports = { start, connect, ApiError };
