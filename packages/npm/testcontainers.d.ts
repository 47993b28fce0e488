import { AbstractStartedContainer, GenericContainer } from "testcontainers";
import { Server } from "./index.js";

/** The server in a container, from the image that deploy/Containerfile makes; "card-payments" by default. */
export class CardPaymentsContainer extends GenericContainer {
  constructor(image?: string);
  start(): Promise<StartedCardPaymentsContainer>;
}

export class StartedCardPaymentsContainer extends AbstractStartedContainer {
  /** Returns the server. */
  connect(): Server;
}
