"use strict";

/** Receives an account's webhooks inside the server, which verifies their signatures. */
class Inbox {
  #account;
  #path;
  #taken = new Set();

  static async open(account) {
    const { token, url } = await account.request("POST", "/1/sandbox/inboxes", {});
    await account.request("POST", "/1/webhook_endpoints", { url });
    const inbox = new Inbox();
    inbox.url = url;
    inbox.#account = account;
    inbox.#path = `/1/sandbox/inboxes/${token}`;
    return inbox;
  }

  answer(answer) {
    return this.#account.request("PUT", this.#path, answer);
  }

  async deliveries(count = 0, { timeout = 10 } = {}) {
    const wait = count === 0 ? "" : `&count=${count}&wait=${timeout}`;
    const path = `${this.#path}/deliveries?per_page=500`;
    const deliveries = await this.#account.request("GET", path + wait);
    const older = deliveries.length === 500 ? await this.#account.request("GET", `${path}&page=2`) : [];
    return [...deliveries, ...older.filter(({ number }) => number < deliveries.at(-1).number)].reverse();
  }

  async waitFor(type, { timeout = 10 } = {}) {
    for (let count = 1; ; ) {
      const deliveries = await this.deliveries(count, { timeout });
      const events = deliveries.filter(({ signature }) => signature === "valid").map(({ body }) => JSON.parse(body));
      const event = events.find((event) => event.type === type && !this.#taken.has(event.token));
      if (event !== undefined) {
        this.#taken.add(event.token);
        return event;
      }
      const received = Math.max(0, ...deliveries.map(({ number }) => number));
      // The inbox keeps no more, and more cannot be waited for.
      if (received < count || received >= 1000) {
        const types = events.map((event) => event.type).join(", ") || "nothing";
        throw new Error(`no ${type} within ${timeout} seconds, but ${types}`);
      }
      count = received + 1;
    }
  }
}

exports.Inbox = Inbox;
