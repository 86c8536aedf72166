import { LIMITS, MESSAGE_KINDS, type MessageKind, type Region } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { Suppressions } from "../documents/suppressions.js";
import { CollectorError } from "../errors.js";
import type { Handler, Route } from "../http/routing.js";
import type { Logger } from "../process/telemetry/logger.js";
import type { Tracing } from "../process/telemetry/tracing.js";
import type { PlanRefusal } from "./admit-request.js";
import { createIngest, type Ingest, type IngestOptions } from "./ingest.js";
import type { IngestMetrics, WrongKeys } from "./ingest-metrics.js";
import { posthogRoutes } from "./posthog/posthog-routes.js";
import { basicUser } from "./sources/authenticator.js";
import type { SourceDirectory } from "./sources/source-directory.js";

/** A transparent 1×1 image, for pages that can only load images. */
const PIXEL_GIF = Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64");

/** The JSON in a pixel's `data` parameter: base64url, or plain base64 whose `+` became a space in the query string. */
function pixelBody(data: string | null): Uint8Array {
  return Buffer.from((data ?? "").replaceAll(" ", "+"), "base64");
}

export interface IngestRoutesOptions {
  readonly store: IngestOptions["store"];
  readonly sources: SourceDirectory;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly mayHandBack?: IngestOptions["mayHandBack"];
  readonly buckets?: IngestOptions["buckets"];
  readonly metrics: IngestMetrics;
  readonly live: IngestOptions["live"];
  /** Remembers who sends with unknown write keys. */
  readonly wrongKeys?: Pick<WrongKeys, "add">;
  /** Takes the spans of traced messages. */
  readonly tracing?: Tracing | undefined;
  /** Default: nobody is suppressed. */
  readonly suppressions?: Pick<Suppressions, "isSuppressed">;
  readonly events?: IngestOptions["events"];
  /** Called for each message that a source's plan refused. */
  readonly onPlanRefusal?: (refused: PlanRefusal) => void;
  /** The region this collector runs as; undefined if no region is configured. */
  readonly region: Region | undefined;
  /** Base URLs of the regions: the other region's is in a 421. */
  readonly regionUrls: Readonly<Partial<Record<Region, string>>>;
  /** The URL at which clients reach this collector, for the settings of browsers. Default: as each client reached it. */
  readonly publicUrl?: string | undefined;
  /** After this, a client whose messages are not stored yet is answered `owner_lost`. Default: it waits until the log answers. */
  readonly answerWithinMs?: number;
  readonly limits?: {
    /** Messages a second of each source without a limit of its own; `auto`: of web and mobile sources. Default: no limit. */
    readonly messagesPerSecond?: number | "auto";
  };
}

/** Where batches are sent. */
export const BATCH_PATHS: readonly string[] = ["/v1/batch", "/v1/import", "/v1/b"];

/** Short names that browser SDKs use for the message kinds. */
export const SHORT_NAMES: Readonly<Record<MessageKind, string>> = {
  identify: "i",
  track: "t",
  page: "p",
  screen: "s",
  group: "g",
  alias: "a",
};

/** The ingestion API: everything under `/v1`, and what RudderStack's and PostHog's SDKs request elsewhere. */
export function ingestRoutes(options: IngestRoutesOptions): Route[] {
  const { logger } = options;
  const ingest = createIngest({
    ...options,
    messagesPerSecond: options.limits?.messagesPerSecond,
  });

  const batch: Handler = async (request) => ({
    status: 200,
    body: await ingest.take(request, undefined, () => request.readBody(LIMITS.batchBytes)),
  });
  const one =
    (kind: MessageKind): Handler =>
    async (request) => ({
      status: 200,
      body: await ingest.take(request, kind, () => request.readBody(LIMITS.messageBytes)),
    });
  const { publicUrl } = options;
  const settings: Handler = async (request) => {
    const writeKey = request.params.writeKey ?? "";
    ingest.authenticate(request, writeKey);
    return {
      status: 200,
      // A URL from one client's headers must not reach other clients through a shared cache.
      headers: { "cache-control": `${publicUrl === undefined ? "private" : "public"}, max-age=120` },
      body: browserSettings(writeKey, new URL(publicUrl ?? request.origin)),
    };
  };
  /** Always responds with the image: a page cannot read anything else. */
  const pixel: Handler = async (request) => {
    const kind = kindNamed(request.params.kind);
    try {
      if (kind === undefined) throw new CollectorError("not_found", `no kind ${request.params.kind}`);
      const body = pixelBody(request.query.get("data"));
      await ingest.take(request, kind, () => body);
    } catch (error) {
      logger.debug("rejected a pixel request", { error });
    }
    return {
      status: 200,
      headers: { "content-type": "image/gif", "cache-control": "no-store, max-age=0" },
      body: PIXEL_GIF,
    };
  };
  /** Clients' metrics about themselves are read, so that the connection can be reused, and dropped. */
  const clientMetrics: Handler = async (request) => {
    await request.dropBody(LIMITS.batchBytes);
    return { status: 200, body: { success: true } };
  };

  const cors = true;
  return [
    ...BATCH_PATHS.map((path) => ({ path, cors, methods: { POST: batch } })),
    ...MESSAGE_KINDS.flatMap((kind) =>
      [kind, SHORT_NAMES[kind]].map((name) => ({ path: `/v1/${name}`, cors, methods: { POST: one(kind) } })),
    ),
    { path: "/v1/m", cors, methods: { POST: clientMetrics } },
    { path: "/v1/projects/:writeKey/settings", cors, methods: { GET: settings } },
    { path: "/v1/pixel/:kind", cors, methods: { GET: pixel } },
    ...rudderstackRoutes(ingest),
    ...posthogRoutes(ingest, options.sources),
  ];
}

export function kindNamed(name: string | undefined): MessageKind | undefined {
  return MESSAGE_KINDS.find((kind) => kind === name || SHORT_NAMES[kind] === name);
}

/**
 * The response of `GET /v1/projects/:writeKey/settings`, which Segment's browser and mobile SDKs and their relatives request before they
 * start. It names this collector as the only destination and switches everything else off.
 */
function browserSettings(writeKey: string, baseUrl: URL): object {
  const everything = { enabled: true, integrations: {} };
  return {
    integrations: {
      "Segment.io": {
        apiKey: writeKey,
        apiHost: `${baseUrl.host}${baseUrl.pathname.replace(/\/$/, "")}/v1`,
        protocol: baseUrl.protocol.replace(":", ""),
        unbundledIntegrations: [],
        addBundledMetadata: true,
        maybeBundledConfigIds: {},
        versionSettings: { version: "4.4.7", componentTypes: ["browser"] },
      },
    },
    plan: {
      track: { __default: everything },
      identify: { __default: everything },
      group: { __default: everything },
    },
    edgeFunction: {},
    analyticsNextEnabled: true,
    middlewareSettings: {},
    enabledMiddleware: {},
    metrics: { sampleRate: 0 },
    legacyVideoPluginsEnabled: false,
    remotePlugins: [],
  };
}

/** What RudderStack's browser and mobile SDKs request besides the addresses under `/v1`. */
function rudderstackRoutes(ingest: Ingest): Route[] {
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
