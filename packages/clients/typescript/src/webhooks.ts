/** Webhooks of the server: only what it has signed is an event. */
import { createHmac, timingSafeEqual } from "node:crypto";

import type { components } from "./api.js";

/** An event, whose `type` tells the compiler which record `data` is. The server may send types that are newer than this client. */
export type KnownEvent = components["schemas"]["KnownEvent"];

/** Seconds that the time of a webhook may be off this machine's. */
const TOLERANCE = 300;

/** The webhook is not of the server, or too old. */
export class WebhookRefused extends Error {
  override readonly name = "WebhookRefused";
}

/**
 * Returns the event of a webhook that was signed with an endpoint's key, `whsec_...`, within the last five minutes; throws
 * WebhookRefused for every other one. `headers` are those of the request, of fetch or of node:http, and `body` is its body, byte for
 * byte.
 */
export function verifyWebhook(
  headers: Headers | Record<string, string | string[] | undefined>,
  body: string | Uint8Array,
  key: string,
): KnownEvent {
  const header = (name: string) => `${(headers instanceof Headers ? headers.get(name) : headers[name]) ?? ""}`;
  const [id, timestamp, signatures] = [header("webhook-id"), header("webhook-timestamp"), header("webhook-signature")];
  if (id === "" || !/^\d+$/.test(timestamp) || signatures === "") {
    throw new WebhookRefused("the request has not the headers of a webhook");
  }
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > TOLERANCE) {
    throw new WebhookRefused("the webhook is too old, or of the future");
  }
  const secret = Buffer.from(key.replace(/^whsec_/, ""), "base64");
  if (secret.length === 0) throw new WebhookRefused("the key is none of an endpoint");
  const mac = createHmac("sha256", secret).update(`${id}.${timestamp}.`).update(body).digest("base64");
  const expected = Buffer.from(`v1,${mac}`);
  const fits = (known: Buffer) => known.length === expected.length && timingSafeEqual(known, expected);
  if (!signatures.split(" ").some((known) => fits(Buffer.from(known)))) {
    throw new WebhookRefused("the signature does not fit");
  }
  return JSON.parse(Buffer.from(body).toString()) as KnownEvent;
}
