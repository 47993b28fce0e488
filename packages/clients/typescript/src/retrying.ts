/** A fetch that repeats requests until the server has answered. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import { NoResponse, fromResponse } from "./errors.js";

const TRIES = 5;
/** In seconds. A server that asks for a longer pause gets no further request. */
const FIRST_PAUSE = 0.25;
const LONGEST_PAUSE = 30;

/**
 * Repeats a request whose connection is lost, and one that is answered by 429, by a status over 499, or by a 409 with Retry-After.
 * A change has one Idempotency-Key for all its tries, so it happens once. Rejects with an ApiError for refusals, and with a
 * NoResponse: both have that key. `timeout` is the longest time of a try, in milliseconds.
 */
export function retrying(timeout: number): (request: Request) => Promise<Response> {
  return async (request) => {
    if (["POST", "PUT", "DELETE"].includes(request.method) && !request.headers.has("Idempotency-Key")) {
      request.headers.set("Idempotency-Key", randomUUID());
    }
    const key = request.headers.get("Idempotency-Key");
    for (let number = 0; ; number++) {
      const isLast = number === TRIES - 1;
      let pause: number | undefined;
      try {
        const response = await once(request, timeout);
        pause = isLast ? undefined : pauseAfter(response, number);
        if (pause === undefined) {
          if (!response.ok) throw await fromResponse(response, key);
          return response;
        }
      } catch (lost) {
        // The caller has given up, or the server has answered.
        if (request.signal.aborted || !isLost(lost)) throw lost;
        if (isLast) throw new NoResponse(key, lost);
        pause = backOff(number);
      }
      await sleep(pause * 1000, undefined, { signal: request.signal });
    }
  };
}

/** Sends the request, and receives the whole response. */
async function once(request: Request, timeout: number): Promise<Response> {
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(timeout)]);
  const response = await fetch(request.clone(), { signal });
  const body = await response.arrayBuffer();
  return new Response(body.byteLength === 0 ? null : body, response);
}

/** fetch says so by a TypeError, a timeout is a DOMException. */
function isLost(error: unknown): boolean {
  return error instanceof TypeError || (error instanceof DOMException && error.name === "TimeoutError");
}

/** The seconds until the next try, undefined if the response is the last one. */
function pauseAfter({ status, headers }: Response, number: number): number | undefined {
  const after = headers.get("Retry-After") ?? "";
  const wanted = /^\d+$/.test(after) ? Number(after) : undefined;
  const repeats = status === 429 || status >= 500 || (status === 409 && wanted !== undefined);
  return repeats && (wanted ?? 0) <= LONGEST_PAUSE ? Math.max(wanted ?? 0, backOff(number)) : undefined;
}

/** Seconds that double with each try, half of them at random. */
function backOff(number: number): number {
  return FIRST_PAUSE * 2 ** number * (0.5 + Math.random() / 2);
}
