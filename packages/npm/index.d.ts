/** Starts a server of its own on a free port. It ends with `stop`, and with this process at the latest. */
export function start(options?: StartOptions): Promise<Server>;

/** Returns the server at an address. The key is that of one of its accounts. */
export function connect(url: string, secretKey: string): Server;

export interface StartOptions {
  /** A file of fixtures for the first account. */
  fixtures?: string;
  /** Asks for the built-in fixtures. */
  sample?: boolean;
  /** A file for the server's log. */
  log?: string;
  /** The program; by default the one that was installed, or card-payments on the PATH. */
  program?: string;
}

/** Sends a request with JSON, and returns the record of the response. */
type Request = <T = any>(method: string, path: string, body?: object, headers?: Record<string, string>) => Promise<T>;

/** A running server, and its first account. */
export interface Server {
  readonly url: string;
  readonly secretKey: string;
  readonly publishableKey?: string;
  /** Creates an account with keys, a clock and an opening balance of its own. */
  createAccount(): Promise<Account>;
  request: Request;
  /** Stops a server that `start` has started; its data is deleted. */
  stop(): Promise<void>;
}

/** An account that nothing else uses. */
export interface Account {
  readonly url: string;
  readonly token: string;
  readonly secretKey: string;
  readonly publishableKey: string;
  request: Request;
  /** Moves the account's clock ahead, by a span such as "7d" or to a time, and returns all that was due on the way. */
  moveClock(move: string | { to: string }): Promise<{ at: string; what: string; token: string }[]>;
  /** Orders faults of the acquirer. */
  setFaults(faults: Faults): Promise<Required<Faults>>;
  /** Registers a receiver of webhooks inside the server. It is deleted with the account. */
  openInbox(): Promise<Inbox>;
  /** Deletes the account with all that it holds. */
  delete(): Promise<void>;
}

export interface Faults {
  decline?: string | null;
  latency_ms?: number;
  gateway_error_rate?: number;
  drop_rate?: number;
  seed?: number;
}

/** Receives an account's webhooks inside the server, which verifies their signatures. Time-outs are whole seconds, at most 30. */
export interface Inbox {
  readonly url: string;
  /** Orders the answer from the next delivery on. */
  answer(answer: Answer): Promise<Required<Answer>>;
  /** Returns the last 1,000 deliveries, the oldest first, once there are `count`, or after `timeout` seconds with fewer. */
  deliveries(count?: number, options?: { timeout?: number }): Promise<Delivery[]>;
  /** Returns the next signed event of a type, each once. Fails once nothing arrives for `timeout` seconds, 10 by default. */
  waitFor(type: string, options?: { timeout?: number }): Promise<Event>;
}

export interface Answer {
  /** HTTP status. */
  status?: number;
  latency_ms?: number;
  fault?: "hang" | "reset" | null;
  /** Only each nth delivery gets this answer, the others 200. */
  every?: number;
}

export interface Delivery {
  /** From 1. */
  number: number;
  headers: Record<string, string>;
  /** Byte for byte. */
  body: string;
  signature: "valid" | "invalid" | "missing";
  /** Why it is invalid. */
  signature_error: string | null;
  /** HTTP status of the answer. */
  status: number | null;
  fault: "hang" | "reset" | null;
  created_at: string;
}

export interface Event<T = any> {
  token: string;
  type: string;
  data: T;
  created_at: string;
}

/** The server refused a request. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  /** The JSON of the answer. */
  readonly body: any;
}
