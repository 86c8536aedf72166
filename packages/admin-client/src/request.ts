import type { AnswerOf, BodyOf, EndpointKey, ListAnswer, ParamsOf, QueryOf } from "@sluice/control-api";
import { AdminError, AdminUnreachable } from "./admin-error.js";

/** Every item of a list, page after page. */
export async function* allPages<T>(
  page: (cursor: string | undefined) => Promise<ListAnswer<T>>,
): AsyncGenerator<T> {
  let cursor: string | undefined;
  do {
    const answer = await page(cursor);
    yield* answer.items;
    cursor = answer.nextCursor;
  } while (cursor !== undefined);
}

export interface AdminClientOptions {
  /** The collector's address, such as `http://127.0.0.1:8787`. */
  readonly url: string;
  /** An admin token. */
  readonly token: string;
  /** Default: the global `fetch`. */
  readonly fetch?: typeof fetch;
}

interface RequestOptions {
  readonly query?: { readonly [name: string]: string | number | boolean | undefined };
  readonly body?: unknown;
  readonly headers?: { readonly [name: string]: string };
  readonly signal?: AbortSignal | undefined;
}

/** Sends a request to the control API and returns a successful response. Rejects with `AdminError` or `AdminUnreachable`. */
export function send(
  options: AdminClientOptions,
  method: string,
  path: string,
  request: RequestOptions = {},
): Promise<Response> {
  return sendTo(options, method, `/api/v1${path}`, request);
}

/** The same for a path of the collector that is not part of the control API. */
export async function sendTo(
  { url, token, fetch: fetchIt = fetch }: AdminClientOptions,
  method: string,
  path: string,
  { query = {}, body, headers = {}, signal }: RequestOptions = {},
): Promise<Response> {
  const address = new URL(`${url.replace(/\/+$/, "")}${path}`);
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) address.searchParams.set(name, String(value));
  let response: Response;
  try {
    response = await fetchIt(address, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
      redirect: "error",
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new AdminUnreachable(url, reasonOf(error), error);
  }
  if (response.ok) return response;
  throw new AdminError(response.status, await readError(response));
}

async function readError(response: Response): Promise<{ readonly [name: string]: unknown }> {
  try {
    const body: unknown = await response.json();
    if (typeof body === "object" && body !== null) return body as { readonly [name: string]: unknown };
  } catch {
    // A proxy's page or a truncated response: only the status is known.
  }
  return {};
}

/** `fetch` puts the reason into `cause`. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof Error) return "code" in cause ? String(cause.code) : cause.message;
  return error.message;
}

/** An object whose optional fields may also be undefined. */
export type Loose<T> = {
  readonly [K in keyof T]: T[K] | (Record<never, never> extends Pick<T, K> ? undefined : never);
};

/** The input of an endpoint: its path's parameters, query and body, as far as it has them. */
type CallInput<K extends EndpointKey> = Given<"params", ParamsOf<K>> &
  Given<"query", Loose<QueryOf<K>>> &
  (BodyOf<K> extends undefined ? unknown : { readonly body: BodyOf<K> }) & {
    readonly signal?: AbortSignal | undefined;
  };
type Given<Name extends string, Fields> = [keyof Fields] extends [never]
  ? unknown
  : { readonly [N in Name]: Fields };

interface AnyInput {
  readonly params?: { readonly [name: string]: string };
  readonly query?: { readonly [name: string]: string | number | boolean | undefined };
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/** Calls an endpoint by its key, such as `GET /sources/:id`. Its input and answer are typed by the control API's table. */
export type Call = <K extends EndpointKey>(key: K, input: CallInput<K>) => Promise<AnswerOf<K>>;

export function caller(options: AdminClientOptions): Call {
  return async <K extends EndpointKey>(key: K, input: CallInput<K>): Promise<AnswerOf<K>> => {
    const { params = {}, ...request } = input as AnyInput;
    const space = key.indexOf(" ");
    const path = key
      .slice(space + 1)
      .replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));
    const response = await send(options, key.slice(0, space), path, request);
    return (response.status === 204 ? undefined : await response.json()) as AnswerOf<K>;
  };
}
