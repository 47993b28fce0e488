/** Refusals of the server as errors. */
import type { components } from "./api.js";

type Body = Partial<components["schemas"]["ErrorBody"]>;

/** The codes of a card that is declined. */
const DECLINES = new Set([
  "card_declined",
  "insufficient_funds",
  "invalid_cvv",
  "invalid_card",
  "processing_error",
  "suspected_fraud",
  "expired_card",
  "lost_card",
  "stolen_card",
  "unknown",
]);

/** The server refused a request. */
export class ApiError extends Error {
  /** The error code: docs/errors.md lists them. */
  readonly code: string | undefined;
  /** The sentence of the code. */
  readonly description: string;
  /** One item for each fault of a parameter. */
  readonly messages: components["schemas"]["ErrorMessage"][];

  constructor(
    /** The status of the response. */
    readonly status: number,
    /** The error object. */
    readonly body: Body,
    /** X-Request-Id of the response. */
    readonly requestId: string | null,
    /** The Idempotency-Key that was sent, null if the request changes nothing. */
    readonly idempotencyKey: string | null = null,
  ) {
    const description = body.error_description ?? "The response is none of this server.";
    super(`${status} ${body.error}: ${description} (request ${requestId})`);
    this.name = new.target.name;
    this.code = body.error;
    this.description = description;
    this.messages = body.messages ?? [];
  }
}

/** The card was declined; nothing was charged. `code` says why. */
export class CardDeclined extends ApiError {
  get chargeToken(): string | undefined {
    return this.body.charge_token;
  }
}
/** Parameters are missing or invalid; `messages` has each. */
export class InvalidResource extends ApiError {}
/** The key is none of the account. */
export class Unauthorized extends ApiError {}
/** There is no such record. */
export class NotFound extends ApiError {}
/** Another request is still in flight. */
export class Conflict extends ApiError {}
/** There were too many requests. */
export class RateLimited extends ApiError {}
/** The server or the acquirer failed, and repeating did not help: repeat the request later, under this idempotencyKey. */
export class ServerError extends ApiError {}

/** The connection was lost, and repeating did not help: repeat the request later, under this idempotencyKey. */
export class NoResponse extends Error {
  constructor(
    /** The Idempotency-Key that was sent, null if the request changes nothing. */
    readonly idempotencyKey: string | null,
    cause: unknown,
  ) {
    super("there was no response", { cause });
    this.name = new.target.name;
  }
}

const BY_STATUS: Record<number, typeof ApiError> = { 401: Unauthorized, 404: NotFound, 409: Conflict, 429: RateLimited };

export async function fromResponse(response: Response, idempotencyKey: string | null): Promise<ApiError> {
  const parsed: unknown = await response.json().catch(() => ({}));
  // insufficient_service_balance comes in a list.
  const first: unknown = Array.isArray(parsed) ? parsed[0] : parsed;
  const body: Body = typeof first === "object" && first !== null ? first : {};
  return new (kind(response.status, body.error))(response.status, body, response.headers.get("X-Request-Id"), idempotencyKey);
}

function kind(status: number, code: string | undefined): typeof ApiError {
  if (code !== undefined && DECLINES.has(code)) return CardDeclined;
  if (code === "invalid_resource" || code === "unprocessable_entity") return InvalidResource;
  return status >= 500 ? ServerError : (BY_STATUS[status] ?? ApiError);
}
