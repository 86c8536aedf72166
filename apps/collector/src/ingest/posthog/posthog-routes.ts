import { LIMITS } from "@sluice/protocol";
import type { Handler, HttpRequest, Route } from "../../http/routing/route.js";
import type { Ingest } from "../ingest.js";
import { eventLoopTurns, runInTurns } from "../messages/event-loop-turns.js";
import type { SourceDirectory } from "../sources/source-directory.js";
import { apiKeyOf, emptyBatch, translateRequest } from "./translate-request.js";

/** Where PostHog's server libraries send events: several, or one. */
const PATHS = ["/batch", "/capture", "/i/v0/e"];

/** PostHog's capture API. Its requests become batches of our messages before anything else looks at them. */
export function posthogRoutes(ingest: Ingest, sources: Pick<SourceDirectory, "find">): Route[] {
  const nextTurn = eventLoopTurns();
  const readTranslated = async (request: HttpRequest): Promise<Uint8Array> => {
    const body = await request.readBody(LIMITS.batchBytes);
    const key = apiKeyOf(body);
    if (key === undefined || sources.find(key) === undefined) return emptyBatch(key);
    return runInTurns(translateRequest(body, key), nextTurn);
  };
  const capture: Handler = async (request) => ({
    status: 200,
    body: await ingest.take(request, undefined, () => readTranslated(request)),
  });
  return PATHS.map((path) => ({ path, cors: true, methods: { POST: capture } }));
}
