import type {
  ActivityView,
  CollectorHealthView,
  DeliveryGroupPage,
  DestinationRatePointView,
  DestinationRatesView,
  DestinationStatusView,
  EventNamesView,
  RatePointView,
  RatesView,
} from "@sluice/control-api";
import { summarizeHealth } from "../../delivery/health/summarize-health.js";

/** What several partitions answer, as one answer. At least one part each. */

export function mergeActivity(parts: readonly ActivityView[]): ActivityView {
  return {
    overMs: Math.max(...parts.map(({ overMs }) => overMs)),
    sources: byId(
      parts.flatMap(({ sources }) => sources),
      "sourceId",
      (one, other) => ({
        ...one,
        accepted: one.accepted + other.accepted,
        ...latest("lastMessageAt", one, other),
      }),
    ),
    destinations: byId(
      parts.flatMap(({ destinations }) => destinations),
      "destinationId",
      (one, other) => ({
        ...one,
        delivered: one.delivered + other.delivered,
        failed: one.failed + other.failed,
        retried: one.retried + other.retried,
        ...latest("lastDeliveryAt", one, other),
      }),
    ),
  };
}

export function mergeEventNames(parts: readonly EventNamesView[]): EventNamesView {
  const merged = byId(
    parts.flatMap(({ items }) => items),
    "name",
    (one, other) => ({
      ...one,
      properties: [...new Set([...one.properties, ...other.properties])].sort(),
    }),
  );
  return { items: merged.sort((one, other) => (one.name < other.name ? -1 : 1)) };
}

export function mergeGroups(parts: readonly DeliveryGroupPage[], limit: number): DeliveryGroupPage {
  const merged = byId(
    parts.flatMap(({ items }) => items),
    "id",
    (one, other) => {
      const newer = one.lastSeenAt >= other.lastSeenAt ? one : other;
      return {
        ...newer,
        count: one.count + other.count,
        failed: one.failed + other.failed,
        pending: one.pending + other.pending,
        firstSeenAt: one.firstSeenAt < other.firstSeenAt ? one.firstSeenAt : other.firstSeenAt,
      };
    },
  ).sort((one, other) => other.count - one.count || (one.id < other.id ? -1 : 1));
  const isWhole = parts.every(({ nextCursor }) => nextCursor === undefined);
  return {
    items: merged.slice(0, limit),
    isExact: isWhole && parts.every(({ isExact }) => isExact),
  };
}

/** A destination as all partitions see it: its worst health, and the sums of what waits. */
export function mergeStatus(parts: readonly DestinationStatusView[]): DestinationStatusView {
  const worst = worstOf(parts);
  const waits = { behind: 0, retries: 0, waiting: 0 };
  for (const { behind, retries, waiting } of parts) {
    waits.behind += behind;
    waits.retries += retries;
    waits.waiting += waiting;
  }
  return {
    ...worst,
    ...waits,
    urls: byId(
      // Those of the worst part come first.
      [worst, ...parts].flatMap(({ urls }) => urls),
      "url",
      (one, other) => (one.health === "good" || one.health === "idle" ? betterKnown(one, other) : one),
    ),
    ...earliest("failingSince", parts),
    ...earliest("oldestUnreadAt", parts),
    ...earliest("nextAttemptAt", parts),
  };
}

type UrlHealth = DestinationStatusView["urls"][number];

function betterKnown(one: UrlHealth, other: UrlHealth): UrlHealth {
  return other.health === "idle" || (other.health === "good" && one.health === "good") ? one : other;
}

function worstOf(parts: readonly DestinationStatusView[]): DestinationStatusView {
  const { health } = summarizeHealth(parts.map((one) => ({ ...memberOf(one), name: "" })));
  const worst = parts.find((one) => one.health === health) ?? (parts[0] as DestinationStatusView);
  // Messages may arrive in one partition and not in the others.
  return worst;
}

function memberOf({ health, reason, since }: Pick<DestinationStatusView, "health" | "reason" | "since">) {
  return { health, reason, ...(since === undefined ? {} : { sinceMs: Date.parse(since) }) };
}

/** `names`: of destinations. `sourcesOf`: the sources to which each is connected. */
export function mergeHealth(parts: readonly CollectorHealthView[]): CollectorHealthView {
  const destinations = parts[0]?.destinations.map(({ destinationId }) =>
    mergeStatus(
      parts.flatMap((part) => part.destinations.filter((one) => one.destinationId === destinationId)),
    ),
  );
  return {
    ...worstSummary(parts),
    destinations: destinations ?? [],
    sources: byId(
      parts.flatMap(({ sources }) => sources),
      "sourceId",
      (one, other) => ({ sourceId: one.sourceId, ...worstSummary([one, other]) }),
    ),
  };
}

type Summary = Pick<CollectorHealthView, "health" | "reason" | "since">;

function worstSummary<S extends Summary>(parts: readonly S[]): Pick<S, "health" | "reason" | "since"> {
  const stopped = parts.find(({ health }) => health === "storage_unavailable");
  const ranked = parts as readonly (S & Pick<DestinationStatusView, "health">)[];
  const { health } = stopped ?? summarizeHealth(ranked.map((one) => ({ ...memberOf(one), name: "" })));
  const { reason, since, health: found } = (parts.find((one) => one.health === health) ?? parts[0]) as S;
  return { health: found, reason, ...(since === undefined ? {} : { since }) } as Pick<S, keyof Summary>;
}

export function mergeRates(parts: readonly RatesView[]): RatesView {
  const everyMs = Math.max(...parts.map((part) => part.everyMs));
  return { everyMs, points: mergePoints<RatePointView>(parts, everyMs, ["accepted", "rejected"]) };
}

export function mergeDestinationRates(parts: readonly DestinationRatesView[]): DestinationRatesView {
  const everyMs = Math.max(...parts.map((part) => part.everyMs));
  return {
    everyMs,
    kept: parts.every(({ kept }) => kept),
    points: mergePoints<DestinationRatePointView>(parts, everyMs, []),
  };
}

/** Points of the same interval as one. Latencies are those of the partition with the highest, because distributions are not known here. */
function mergePoints<P extends DestinationRatePointView>(
  parts: readonly { readonly points: readonly P[] }[],
  everyMs: number,
  further: readonly (keyof P)[],
): P[] {
  const sums: readonly (keyof P)[] = ["delivered", "failed", "retried", ...further];
  const merged = new Map<number, P>();
  for (const point of parts.flatMap(({ points }) => points)) {
    const interval = Math.round(Date.parse(point.at) / everyMs);
    const known = merged.get(interval);
    if (known === undefined) {
      merged.set(interval, point);
      continue;
    }
    const slower = (point.latencyP99Ms ?? -1) > (known.latencyP99Ms ?? -1) ? point : known;
    const sum = Object.fromEntries(sums.map((name) => [name, Number(known[name]) + Number(point[name])]));
    merged.set(interval, { ...slower, ...sum, at: known.at, overMs: Math.max(known.overMs, point.overMs) });
  }
  return [...merged].sort(([one], [other]) => one - other).map(([, point]) => point);
}

function byId<T, K extends keyof T>(all: readonly T[], key: K, merge: (one: T, other: T) => T): T[] {
  const merged = new Map<T[K], T>();
  for (const one of all) {
    const known = merged.get(one[key]);
    merged.set(one[key], known === undefined ? one : merge(known, one));
  }
  return [...merged.values()];
}

function latest<K extends string>(name: K, one: { [N in K]?: string }, other: { [N in K]?: string }) {
  const times = [one[name], other[name]].filter((time) => time !== undefined).sort();
  return times.length === 0 ? {} : { [name]: times.at(-1) as string };
}

function earliest<K extends keyof DestinationStatusView>(name: K, parts: readonly DestinationStatusView[]) {
  const times = parts.flatMap((part) => (part[name] === undefined ? [] : [part[name] as string])).sort();
  return times.length === 0 ? {} : { [name]: times[0] as string };
}
