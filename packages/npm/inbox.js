"use strict";

const { createHmac, timingSafeEqual } = require("node:crypto");
const { once } = require("node:events");
const { createServer } = require("node:http");

/** Receives an account's webhooks on a free port of 127.0.0.1, and verifies their signatures. */
class Inbox {
  #key;
  #ids = new Set();
  #taken = new Set();
  #waiting = new Set();
  #server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    response.writeHead((await this.#receive(request.headers, Buffer.concat(chunks))) ? 204 : 400).end();
  });

  events = [];

  static async open(register) {
    const inbox = new Inbox();
    const server = inbox.#server.listen(0, "127.0.0.1");
    // A test run that forgets to close the inbox ends nevertheless.
    server.unref();
    await once(server, "listening");
    inbox.url = `http://127.0.0.1:${server.address().port}/`;
    inbox.#key = Promise.resolve(register(inbox.url)).then((key) => Buffer.from(key.replace("whsec_", ""), "base64"));
    await inbox.#key;
    return inbox;
  }

  async #receive(headers, body) {
    const id = headers["webhook-id"];
    const mac = createHmac("sha256", await this.#key).update(`${id}.${headers["webhook-timestamp"]}.`).update(body);
    const signature = Buffer.from(`v1,${mac.digest("base64")}`);
    const fits = (known) => known.length === signature.length && timingSafeEqual(Buffer.from(known), signature);
    if (!`${headers["webhook-signature"]}`.split(" ").some(fits)) return false;
    // A repeated delivery is no second event.
    if (!this.#ids.has(id)) {
      this.#ids.add(id);
      this.events.push(JSON.parse(body));
      for (const wake of this.#waiting) wake();
    }
    return true;
  }

  async waitFor(type, { timeout = 10 } = {}) {
    const take = () => {
      const event = this.events.find((event) => event.type === type && !this.#taken.has(event.token));
      if (event !== undefined) this.#taken.add(event.token);
      return event;
    };
    let timer, wake;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => {
        const types = this.events.map((event) => event.type).join(", ") || "nothing";
        reject(new Error(`no ${type} within ${timeout} seconds, but ${types}`));
      }, timeout * 1000);
    });
    const taken = new Promise((resolve) => {
      wake = () => {
        const event = take();
        if (event !== undefined) resolve(event);
      };
    });
    this.#waiting.add(wake);
    wake();
    try {
      return await Promise.race([taken, late]);
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(wake);
    }
  }

  close() {
    this.#server.close();
    this.#server.closeAllConnections?.();
  }
}

exports.Inbox = Inbox;
