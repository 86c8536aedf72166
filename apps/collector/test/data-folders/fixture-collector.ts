import { type Collector, startCollector } from "../../src/collector.js";
import { createLogger } from "../../src/process/telemetry/logger.js";

/** Of the fixtures only, so that no fixture has to hold a key. */
const SECRET_KEY = Buffer.alloc(32, "fixture").toString("base64");
const ADMIN_TOKEN = "the-token-of-the-fixtures";

export interface FixtureCollector {
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  api(method: string, path: string, body?: unknown): Promise<any>;
  send(writeKey: string, batch: readonly object[]): Promise<void>;
  close(): Promise<void>;
}

/** A collector on the data folder of a fixture. */
export async function startFixtureCollector(dataDirectory: string): Promise<FixtureCollector> {
  const collector: Collector = await startCollector({
    mode: "production",
    host: "127.0.0.1",
    port: 0,
    dataDirectory,
    adminToken: ADMIN_TOKEN,
    secretKey: SECRET_KEY,
    allowTargets: ["127.0.0.0/8"],
    logger: createLogger({ level: "error", write: () => {} }),
  });
  const call = async (path: string, authorization: string, method: string, body?: unknown) => {
    const response = await fetch(`${collector.url}${path}`, {
      method,
      headers: { authorization, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  };
  return {
    api: (method, path, body) => call(`/api/v1${path}`, `Bearer ${ADMIN_TOKEN}`, method, body),
    send: (writeKey, batch) => call("/v1/batch", `Basic ${btoa(`${writeKey}:`)}`, "POST", { batch }),
    close: () => collector.close(5_000),
  };
}

/** Everything that a later version has to find again, in the words of the control API. */
export async function describeData({ api }: FixtureCollector): Promise<object> {
  const itemsOf = async (path: string) => (await api("GET", path)).items;
  const [audience] = await itemsOf("/audiences");
  const [source] = await itemsOf("/sources");
  const [deletion] = await itemsOf("/deletions");
  return {
    messages: (await itemsOf("/messages?limit=100")).map(stable),
    sources: await itemsOf("/sources"),
    usage: await api("GET", `/sources/${source.id}/usage`),
    destinations: (await itemsOf("/destinations")).map(
      ({ id, name, settings, version }: Record<string, unknown>) => ({
        ...{ id, name, settings, version },
      }),
    ),
    audience: { id: audience.id, condition: audience.condition },
    members: await itemsOf(`/audiences/${audience.id}/members`),
    profile: await api("GET", "/profiles/ada"),
    deletion,
    suppressions: await itemsOf("/suppressions"),
    rejected: await itemsOf("/rejected-messages"),
  };
}

interface Message {
  readonly outcomes: readonly { readonly state: string; readonly reason?: string }[];
  readonly [field: string]: unknown;
}

/** A message without what depends on the time of the question. */
function stable({ messageId, receivedAt, message, outcomes }: Message): object {
  return {
    ...{ messageId, receivedAt, message },
    outcomes: outcomes.map(({ state, reason }) => ({ state, reason })),
  };
}
