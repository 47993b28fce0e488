"use strict";

const { randomBytes } = require("node:crypto");
const { AbstractStartedContainer, GenericContainer, Wait } = require("testcontainers");
const { connect } = require("./index.js");

const PORT = 8080;

/** A container of deploy/Containerfile. */
class CardPaymentsContainer extends GenericContainer {
  #secretKey = `sk_test_${randomBytes(16).toString("hex")}`;

  constructor(image = "card-payments") {
    super(image);
    this.withExposedPorts(PORT)
      .withEnvironment({ CARD_PAYMENTS_SECRET_KEY: this.#secretKey })
      .withWaitStrategy(Wait.forHttp("/readyz", PORT));
  }

  async start() {
    return new StartedCardPaymentsContainer(await super.start(), this.#secretKey);
  }
}

class StartedCardPaymentsContainer extends AbstractStartedContainer {
  #secretKey;

  constructor(started, secretKey) {
    super(started);
    this.#secretKey = secretKey;
  }

  /** Returns the server. */
  connect() {
    return connect(`http://${this.getHost()}:${this.getMappedPort(PORT)}`, this.#secretKey);
  }
}

module.exports = { CardPaymentsContainer, StartedCardPaymentsContainer };
