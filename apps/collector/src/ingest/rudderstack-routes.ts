import { LIMITS } from "@sluice/protocol";
import type { Handler, Route } from "../http/routing/route.js";
import type { Ingest } from "./ingest.js";
import { basicUser } from "./sources/write-key.js";

/** What RudderStack's browser and mobile SDKs request besides the addresses under `/v1`. */
export function rudderstackRoutes(ingest: Ingest): Route[] {
  /** `navigator.sendBeacon` cannot set headers, so the query names the write key. */
  const beacon: Handler = async (request) => ({
    status: 200,
    body: await ingest.take(
      request,
      undefined,
      () => request.readBody(LIMITS.batchBytes),
      request.query.get("writeKey") || undefined,
    ),
  });
  /** Browsers name the write key in the query, mobile SDKs in the header only. */
  const config: Handler = (request) => {
    const source = ingest.authenticate(
      request,
      request.query.get("writeKey") || basicUser(request.headers.authorization),
    );
    return {
      status: 200,
      headers: { "cache-control": "private, max-age=120" },
      body: sourceConfig(source.id),
    };
  };
  return [
    { path: "/beacon/v1/batch", cors: true, methods: { POST: beacon } },
    { path: "/sourceConfig", cors: true, methods: { GET: config } },
  ];
}

/**
 * What the SDK needs to start: an enabled source without destinations in the page. It names no data plane (`dataplanes`), so every
 * version of the SDK sends to the URL that the page passed to `load()`.
 */
function sourceConfig(sourceId: string): object {
  return {
    source: {
      id: sourceId,
      enabled: true,
      config: { statsCollection: { errors: { enabled: false }, metrics: { enabled: false } } },
      destinations: [],
    },
  };
}
