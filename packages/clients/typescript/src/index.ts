/** A client of the card payments server: `connect(url, secretKey).createCharge({ body })`. */
import createClient from "openapi-fetch";

import type { components, operations, paths } from "./api.js";
import { retrying } from "./retrying.js";
import { routes } from "./routes.js";

export * from "./errors.js";
export * from "./webhooks.js";

/** The records, by their names in openapi.yaml: `Schemas["Charge"]`. */
export type Schemas = components["schemas"];

type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name;

interface Operation {
  parameters: { query?: unknown; header?: unknown; path?: unknown };
  requestBody?: { content: unknown };
  responses: object;
}

/** JSON, or the form of a file. */
type Content<Media> = Media extends { "application/json": infer Json } ? Json : FormData;

type Body<O extends Operation> = [NonNullable<O["requestBody"]>] extends [never]
  ? unknown
  : undefined extends O["requestBody"]
    ? { body?: Content<NonNullable<O["requestBody"]>["content"]> }
    : { body: Content<NonNullable<O["requestBody"]>["content"]> };

/** What an operation takes: `path`, `query`, `header`, `body`, and a signal that ends it. */
type Input<O extends Operation> = Omit<O["parameters"], "cookie"> & Body<O> & { signal?: AbortSignal };

type Output<O extends Operation> = O["responses"][keyof O["responses"]] extends { content: { "application/json": infer Json } }
  ? Json
  : void;

type Call<O extends Operation> = {} extends Input<O>
  ? (input?: Input<O>) => Promise<Output<O>>
  : (input: Input<O>) => Promise<Output<O>>;

/** Every operation under its operationId. */
export type Client = { [Name in keyof operations as CamelCase<Name>]: Call<operations[Name]> };

/**
 * Returns a client of the account that the key is of. Each request waits `timeout` milliseconds for a response at most, 70 seconds by
 * default. Lost connections, 429, 5xx, and a 409 with Retry-After are repeated, up to five tries, a change under one Idempotency-Key.
 */
export function connect(url: string, secretKey: string, { timeout = 70_000 } = {}): Client {
  const authorization = `Basic ${Buffer.from(`${secretKey}:`).toString("base64")}`;
  const api = createClient<paths>({ baseUrl: url, headers: { authorization }, fetch: retrying(timeout) });
  const calls = Object.entries(routes).map(([operation, [method, path]]) => {
    const name = operation.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
    // The types of each operation are those of Client.
    const call = async ({ body, signal, ...params }: { body?: never; signal?: AbortSignal } = {}) =>
      (await api.request(method as never, path as never, { params, body, signal } as never)).data;
    return [name, call];
  });
  return Object.fromEntries(calls) as Client;
}

type List = (input: never) => Promise<{ response: unknown[]; pagination: { count: number; per_page: number } }>;
type Item<L extends List> = Awaited<ReturnType<L>>["response"][number];

/** All items of a list, page after page: `for await (const charge of items(client.listCharges, { query: { per_page: 100 } }))`. */
export async function* items<L extends List>(list: L, input?: Parameters<L>[0]): AsyncGenerator<Item<L>, void> {
  const { query, ...others } = (input ?? {}) as { query?: object };
  for (let page = 1; ; page++) {
    const { response, pagination } = await list({ ...others, query: { ...query, page } } as never);
    yield* response as Item<L>[];
    if (page * pagination.per_page >= pagination.count) return;
  }
}
