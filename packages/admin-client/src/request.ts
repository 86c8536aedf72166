import { AdminError, AdminUnreachable } from "./admin-error.js";

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
