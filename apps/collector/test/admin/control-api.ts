import type { IncomingHttpHeaders } from "node:http";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { type NewBatch, openMemoryStore } from "@sluice/event-log";
import { manualClock } from "@sluice/resilience/testing";
import { type EndpointParts, endpointsOf } from "../../src/admin/endpoints.js";
import { type AdminRoutesOptions, API_PREFIX, adminRoutes } from "../../src/admin/routes.js";
import { startDelivery } from "../../src/delivery/start-delivery.js";
import { catalogOf } from "../../src/destinations/catalog.js";
import { secretBox } from "../../src/destinations/secret-box.js";
import { newId } from "../../src/documents/new-id.js";
import { collectorErrorOf } from "../../src/errors.js";
import { SourceEvents } from "../../src/events/source-events.js";
import { errorAnswer } from "../../src/http/connection/respond.js";
import type { Route } from "../../src/http/routing.js";
import { createRouter } from "../../src/http/routing.js";
import { startOperations } from "../../src/operations/start-operations.js";
import { liveEvents } from "../../src/process/telemetry/live-events.js";
import { createLogger } from "../../src/process/telemetry/logger.js";
import { createMetrics } from "../../src/process/telemetry/metrics.js";
import { openTokens } from "../../src/tokens/tokens.js";
import { NO_TRANSFORMATIONS } from "../../src/transformations/transformations.js";
import { Trials } from "../../src/transformations/trials.js";
import { scriptedDestination } from "./scripted-destination.js";

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly body: any;
}

export interface AskOptions {
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly address?: string;
  readonly signal?: AbortSignal;
  /** Takes what a streaming answer writes. */
  readonly onChunk?: (chunk: string) => boolean;
  readonly drained?: () => Promise<void>;
}

/**
 * The control API over the memory store, asked without sockets. Every answer of a listed endpoint is held against the
 * schema that documents it.
 */
export async function controlApi({
  endpoints: replaced = [],
  ...overrides
}: Partial<AdminRoutesOptions> = {}) {
  const clock = manualClock();
  const store = await openMemoryStore({ clock });
  const tokens = await openTokens({ config: store.config, clock });
  const { token } = await tokens.create("test", "full");
  const live = liveEvents();
  const secrets = secretBox(Buffer.alloc(32, 7));
  const trials = new Trials();
  const destination = scriptedDestination();
  const catalog = catalogOf([destination.type]);
  const delivery = await startDelivery({
    store,
    catalog,
    clock,
    logger: createLogger({ write() {} }),
    metrics: createMetrics(),
    live,
  });
  const operations = await startOperations({
    store,
    delivery,
    live,
    clock,
    newId: (kind) => newId(kind === "replay" ? "rpl" : "op"),
    logger: createLogger({ write() {} }),
  });
  const context: Omit<AdminRoutesOptions, "endpoints"> = {
    store,
    catalog,
    delivery,
    transformations: NO_TRANSFORMATIONS,
    // Audiences have tests of their own, beside a whole collector.
    audiences: { reset: (clearLog) => clearLog(), refusedJoins: async () => [] },
    events: { of: () => new SourceEvents(), behind: 0, clear: async () => {} },
    planOf: () => undefined,
    tokens,
    live,
    clock,
    logger: { warn() {}, error() {} },
    publicUrl: undefined,
    region: "oregon",
    mode: "dev",
    startedAtMs: clock.now(),
    limits: { messagesPerSecond: {} },
    readDisk: async () => ({ freeBytes: 3e9, totalBytes: 100e9 }),
    version: "0.0.0-test",
    ...overrides,
  };
  const parts: Partial<EndpointParts> = { operations, secrets, trials, store, clock };
  const suppressions = { covers: () => false };
  // Those of parts that are missing here are only documented, unless a test replaces them.
  const endpoints = [...endpointsOf({ audiences: {}, ...parts, suppressions } as never), ...replaced];
  const routes = adminRoutes({ ...context, endpoints });
  const router = createRouter(routes);

  const ask = async (
    method: keyof Route["methods"],
    address: string,
    body?: unknown,
    options: AskOptions = {},
  ): Promise<ApiAnswer> => {
    const url = new URL(address, "http://collector");
    const match = router(url.pathname);
    const handler = match?.route.methods[method];
    if (match === undefined || handler === undefined) throw new Error(`Nothing answers ${method} ${address}`);
    const bearer = options.token ?? token;
    const headers: IncomingHttpHeaders = {
      ...(bearer === "" ? {} : { authorization: `Bearer ${bearer}` }),
      ...options.headers,
    };
    try {
      const answer = await handler({
        method,
        path: url.pathname,
        params: match.params,
        query: url.searchParams,
        headers,
        remoteAddress: options.address ?? "127.0.0.1",
        hosts: [url.host],
        origin: "http://127.0.0.1:8787",
        isLocal: true,
        signal: options.signal ?? new AbortController().signal,
        vouch: () => {},
        dropBody: async () => {},
        readBody: async () =>
          typeof body === "string"
            ? Buffer.from(body)
            : body === undefined
              ? new Uint8Array()
              : Buffer.from(JSON.stringify(body)),
      });
      if (answer.stream !== undefined)
        await answer.stream(
          (chunk) => options.onChunk?.(String(chunk)) ?? true,
          options.signal ?? new AbortController().signal,
          options.drained ?? (async () => {}),
        );
      const text = typeof answer.body === "object" ? JSON.stringify(answer.body) : undefined;
      const parsed = text === undefined ? answer.body : JSON.parse(text);
      if (answer.stream === undefined) holdAgainstSchema(method, match.route.path, answer.status, parsed);
      return { status: answer.status, headers: answer.headers ?? {}, body: parsed };
    } catch (error) {
      if (collectorErrorOf(error).code === "internal") throw error;
      const { status, headers = {}, body: refusal } = errorAnswer(error);
      return { status, headers, body: refusal };
    }
  };

  return {
    ask,
    clock,
    store,
    catalog,
    secrets,
    delivery,
    tokens,
    token,
    live,
    routes,
    destination,
    /** Puts messages of a source into the log, as the ingestion does. */
    async receive(
      sourceId: string,
      messages: readonly ({ messageId: string; type: string } & Record<string, unknown>)[],
    ) {
      const batch: NewBatch = {
        sourceId,
        receivedAtMs: clock.now(),
        body: Buffer.from(JSON.stringify({ batch: messages })),
        itemCount: messages.length,
        skipped: [],
        madeIds: [],
        keys: messages.map((message, index) => ({
          index,
          messageId: message.messageId,
          userId: String(message.userId ?? message.anonymousId),
          type: message.type,
          ...(typeof message.event === "string" ? { event: message.event } : {}),
        })),
      };
      await store.log.append(batch);
      return store.log.head();
    },
    async [Symbol.asyncDispose]() {
      await trials.close();
      await operations.close();
      await delivery.close(0);
      tokens.close();
      await store.close();
    },
  };
}

export type ControlApi = Awaited<ReturnType<typeof controlApi>>;

function holdAgainstSchema(method: string, path: string, status: number, body: unknown): void {
  const endpoint = endpointsOf({ audiences: {} } as never).find(
    (listed) => listed.method === method && `${API_PREFIX}${listed.path}` === path,
  );
  if (endpoint?.answer.schema === undefined || status !== endpoint.answer.status) return;
  const check = TypeCompiler.Compile(endpoint.answer.schema);
  const [error] = check.Errors(body);
  if (error !== undefined)
    throw new Error(
      `${endpoint.name} answered what its schema does not allow: ${error.path} ${error.message}`,
    );
}
