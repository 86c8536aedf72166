import type { RawBody } from "../signature/signature.js";

/**
 * The raw body of a request whose framework has already read it: the bytes of a raw-body hook, a body that was read as bytes or text, or the
 * parsed JSON serialized again. The collector serializes bodies like `JSON.stringify`, so the signature also matches then, except for
 * bodies with integers beyond 2^53. Undefined if nothing has read the body yet.
 */
export function rawBodyOf(request: { body?: unknown; rawBody?: unknown }): RawBody | undefined {
  for (const candidate of [request.rawBody, request.body]) {
    if (typeof candidate === "string" || candidate instanceof Uint8Array) return candidate;
  }
  return typeof request.body === "object" && request.body !== null ? JSON.stringify(request.body) : undefined;
}
