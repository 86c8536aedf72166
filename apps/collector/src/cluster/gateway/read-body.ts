import { inspectJson } from "@sluice/event-log";
import { readJson } from "../../admin/endpoint/check-request.js";
import { CollectorError } from "../../errors.js";
import type { HttpRequest } from "../../http/routing/route.js";
import { MAX_NESTING } from "../../ingest/messages/open-request.js";

/** The JSON object that a request has as its body; an empty one if it has none. Rejects with `malformed_json`. */
export async function readBody(request: HttpRequest, limitBytes: number): Promise<object> {
  const bytes = await request.readBody(limitBytes);
  const parsed = readJson(bytes);
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
    throw new CollectorError("malformed_json");
  // It is written again for each partition, and that does not work at any depth.
  if (inspectJson(parsed, MAX_NESTING).isDeep)
    throw new CollectorError("malformed_json", `nested deeper than ${MAX_NESTING} levels`);
  return parsed;
}
