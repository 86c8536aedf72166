import { once } from "node:events";
import { type IncomingMessage, type RequestOptions, request } from "node:http";
import { json } from "node:stream/consumers";

/** Sends the path as it is, unlike `fetch`. `url`: of the process. Default: a POST without a body. */
export async function sendPath(
  url: string,
  path: string,
  { body, ...options }: Pick<RequestOptions, "method" | "headers"> & { readonly body?: string } = {},
): Promise<{ readonly status: number | undefined; readonly body: unknown }> {
  const { port } = new URL(url);
  const sent = request({ host: "127.0.0.1", port, method: "POST", path, ...options });
  sent.end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return { status: response.statusCode, body: await json(response) };
}
