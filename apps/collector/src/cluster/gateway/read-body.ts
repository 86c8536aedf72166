import { CollectorError } from "../../errors.js";
import type { HttpRequest } from "../../http/routing/route.js";

/** The JSON object that a request has as its body; an empty one if it has none. Rejects with `malformed_json`. */
export async function readBody(request: HttpRequest, limitBytes: number): Promise<object> {
  const bytes = await request.readBody(limitBytes);
  if (bytes.length === 0) return {};
  try {
    const parsed: unknown = JSON.parse(Buffer.from(bytes).toString("utf8"));
    if (typeof parsed === "object" && parsed !== null && !Array.isArray(parsed)) return parsed;
  } catch {
    // Below.
  }
  throw new CollectorError("malformed_json");
}
