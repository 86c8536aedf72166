import type { RawBody } from "./signature.js";

/**
 * The raw body of a request whose framework has read it already: kept by a raw-body hook, given as bytes or text, or,
 * where only the parsed JSON is left, written anew. The collector writes bodies as `JSON.stringify` does, so that the
 * signature holds for those too, but for integers beyond 2^53. Undefined: nothing has read the body yet.
 */
export function rawOfParsed(request: { body?: unknown; rawBody?: unknown }): RawBody | undefined {
  for (const candidate of [request.rawBody, request.body]) {
    if (typeof candidate === "string" || candidate instanceof Uint8Array) return candidate;
  }
  return typeof request.body === "object" && request.body !== null ? JSON.stringify(request.body) : undefined;
}
