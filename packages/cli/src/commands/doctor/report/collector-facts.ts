import { type AdminClient, allPages } from "@sluice/admin-client";
import type { CollectorInfo, DestinationView, ListAnswer } from "@sluice/control-api";
import { definedFields } from "../../../arguments.js";
import type { Aliases } from "./aliases.js";
import { codeInText, failureCode } from "./aliases.js";

/** Labels with a fixed set of values. The values of all others are ids, and are replaced by aliases. */
const FIXED_LABELS = new Set([
  "channel",
  "code",
  "health",
  "kind",
  "le",
  "major",
  "minor",
  "mode",
  "node",
  "patch",
  "quantile",
  "result",
  "route",
  "signal",
  "space",
  "state",
  "status",
  "type",
  "version",
]);
/** Values of other labels that are no ids. */
const FIXED_VALUES = new Set(["audiences", "none", "other"]);

const SAMPLE = /^((?:sluice|process|nodejs)_\w+)(?:\{(.*)\})? ([-+\w.]+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;
const FIXED_TEXT = /^[\w.+:/*-]{1,100}$/;

/** The samples of metrics in Prometheus' text format, without what could name something of the user. Unknown lines are left out. */
export function maskedMetrics(
  text: string,
  aliases: Aliases,
): { readonly [series: string]: number | string } {
  return Object.fromEntries(
    text.split("\n").flatMap((line) => {
      const [, name, labels, value] = SAMPLE.exec(line) ?? [];
      if (name === undefined || value === undefined) return [];
      const number = Number(value);
      // JSON has no infinity and no NaN.
      return [[seriesName(name, labels, aliases), Number.isFinite(number) ? number : String(number)]];
    }),
  );
}

function seriesName(name: string, labels: string | undefined, aliases: Aliases): string {
  if (labels === undefined) return name;
  const masked = [...labels.matchAll(LABEL)].map(
    ([, label = "", value = ""]) => `${label}="${maskedValue(label, value, aliases)}"`,
  );
  return `${name}{${masked.join(",")}}`;
}

function maskedValue(label: string, value: string, aliases: Aliases): string {
  if (FIXED_VALUES.has(value)) return value;
  if (FIXED_LABELS.has(label) && FIXED_TEXT.test(value)) return value;
  return aliases.of(label === "consumer" ? "destination" : label, value);
}

const MAX_FAILURES = 100;

/** One part of the report. A part that cannot be had says why. */
type Part<T> = T | { readonly unavailable: string };

async function part<T>(read: () => Promise<T>): Promise<Part<T>> {
  try {
    return await read();
  } catch (error) {
    return { unavailable: failureCode(error) };
  }
}

/** What the control API says, without names, addresses, and contents of messages. Sources and destinations have numbers. */
export async function collectorFacts(client: AdminClient, aliases: Aliases) {
  return {
    collector: await part(async () => collectorPart(await client.info())),
    counts: await part(() => countsPart(client)),
    sources: await part(() => sourcesPart(client, aliases)),
    destinations: await part(() => destinationsPart(client, aliases)),
    failures: await part(() => failuresPart(client, aliases)),
    audiences: await part(async () => {
      const { behind, setAside } = await client.audiences.engine();
      return { behind, setAside: setAside.reduce((sum, one) => sum + one.messages, 0) };
    }),
    lastHour: await part(() => lastHourPart(client)),
    metrics: await part(async () => maskedMetrics(await client.metrics(), aliases)),
  };
}

/** The region and the public URL are left out: they say where somebody runs it. */
function collectorPart({ version, mode, node, startedAt, now, storage, disk, limits, token }: CollectorInfo) {
  return {
    version,
    mode,
    node,
    startedAt,
    now,
    storage:
      storage.kind === "ready"
        ? storage
        : { kind: storage.kind, since: storage.since, code: codeInText(storage.reason) },
    ...definedFields({ disk }),
    limits,
    tokenAccess: token.access,
  };
}

async function countsPart(client: AdminClient) {
  return {
    audiences: await countAll((cursor) => client.audiences.list({ cursor })),
    computedTraits: await countAll((cursor) => client.computedTraits.list({ cursor })),
    operations: await countAll((cursor) => client.operations.list({ cursor })),
    openIncidents: await countAll((cursor) => client.incidents.list({ cursor })),
  };
}

async function countAll<T>(page: (cursor: string | undefined) => Promise<ListAnswer<T>>): Promise<number> {
  let count = 0;
  for await (const _ of allPages(page)) count += 1;
  return count;
}

async function sourcesPart(client: AdminClient, aliases: Aliases) {
  const sources = [];
  for await (const { id, kind, writeKeys, blockedEvents, rateLimit } of allPages((cursor) =>
    client.sources.list({ cursor }),
  ))
    sources.push({
      source: aliases.of("source", id),
      kind,
      writeKeys: writeKeys.length,
      blockedEvents: blockedEvents.length,
      hasRateLimit: rateLimit !== undefined,
    });
  return sources;
}

async function destinationsPart(client: AdminClient, aliases: Aliases) {
  const destinations = [];
  for await (const destination of allPages((cursor) => client.destinations.list({ cursor })))
    destinations.push(await destinationPart(destination, client, aliases));
  return destinations;
}

/** Settings are left out: they have URLs, headers and secrets. */
async function destinationPart(destination: DestinationView, client: AdminClient, aliases: Aliases) {
  const { id, type, enabled, sourceIds, filters, retryForMs, version } = destination;
  const status = await client.destinations.status(id);
  return {
    destination: aliases.of("destination", id),
    type,
    enabled,
    sources: sourceIds.map((source) => aliases.of("source", source)),
    filters: filters.length,
    retryForMs,
    changes: version,
    state: status.state,
    health: status.health,
    since: status.since,
    failingSince: status.failingSince,
    nextAttemptAt: status.nextAttemptAt,
    oldestUnreadAt: status.oldestUnreadAt,
    behind: status.behind,
    retries: status.retries,
    urls: status.urls.map(({ health }) => health),
    disabledUrls: status.disabledUrls?.length ?? 0,
  };
}

/** How many deliveries fail with which cause: a status, or a code such as `timeout`. */
async function failuresPart(client: AdminClient, aliases: Aliases) {
  const { items } = await client.deliveryGroups.list({ limit: MAX_FAILURES });
  return items.map(({ destinationId, cause, failed, pending, firstSeenAt, lastSeenAt }) => ({
    destination: aliases.of("destination", destinationId),
    cause,
    failed,
    pending,
    firstSeenAt,
    lastSeenAt,
  }));
}

/** Sums of the last hour, and the worst latencies of its intervals. */
async function lastHourPart(client: AdminClient) {
  const { points } = await client.rates("1h");
  const sum = (field: "accepted" | "rejected" | "delivered" | "failed" | "retried"): number =>
    points.reduce((total, point) => total + point[field], 0);
  const worst = (field: "latencyP50Ms" | "latencyP99Ms"): number | undefined => {
    const values = points.flatMap((point) => point[field] ?? []);
    return values.length === 0 ? undefined : Math.max(...values);
  };
  return {
    accepted: sum("accepted"),
    rejected: sum("rejected"),
    delivered: sum("delivered"),
    failed: sum("failed"),
    retried: sum("retried"),
    worstLatencyP50Ms: worst("latencyP50Ms"),
    worstLatencyP99Ms: worst("latencyP99Ms"),
  };
}
