import type { Condition, Incident } from "./incident.js";
import { DISK_KEY } from "./observe.js";

/** What is wrong in one partition of a cluster. The control partition tells people of it. */
export interface PartitionReport {
  readonly partition: number;
  /** The process that owns the partition. */
  readonly node: string;
  readonly open: readonly Condition[];
  /** What ended incidents, by their key. */
  readonly ended: readonly { readonly key: string; readonly atMs: number; readonly detail: string }[];
}

/** The incidents of a partition, as the control partition is to know them. */
export function reportOf(incidents: ReadonlyMap<string, Incident>): Pick<PartitionReport, "open" | "ended"> {
  const all = [...incidents];
  return {
    open: all.flatMap(([key, { state, kind, title, detail, destinationId, sinceMs }]) =>
      state === "open"
        ? [{ key, kind, title, detail, sinceMs, ...(destinationId === undefined ? {} : { destinationId }) }]
        : [],
    ),
    ended: all.flatMap(([key, { state, resolvedAtMs, detail }]) =>
      state === "resolved" && resolvedAtMs !== undefined ? [{ key, atMs: resolvedAtMs, detail }] : [],
    ),
  };
}

/**
 * What is wrong in all partitions, each thing once: a destination that fails in several partitions is one condition, since the first of
 * them. A disk is that of a process, and a process owns several partitions.
 */
export function mergeConditions(
  own: readonly Condition[],
  node: string,
  reports: readonly PartitionReport[],
): readonly Condition[] {
  const merged = new Map(own.map((condition) => [condition.key, condition]));
  for (const report of reports) {
    for (const condition of report.open) {
      const one = named(condition, report, node);
      const known = merged.get(one.key);
      merged.set(one.key, known === undefined ? one : earliest(known, one));
    }
  }
  return [...merged.values()];
}

function named(condition: Condition, { partition, node: owner }: PartitionReport, node: string): Condition {
  if (condition.key !== DISK_KEY)
    return { ...condition, detail: `${condition.detail} Seen in partition ${partition}.` };
  return owner === node
    ? condition
    : { ...condition, key: `${DISK_KEY}:${owner}`, title: `The disk of ${owner} is nearly full` };
}

function earliest(known: Condition, other: Condition): Condition {
  return { ...known, sinceMs: Math.min(known.sinceMs, other.sinceMs) };
}

/** What ended an incident in another partition. Undefined: it was not open there. */
export function endingElsewhere(
  key: string,
  { openedAtMs }: Pick<Incident, "openedAtMs">,
  reports: readonly PartitionReport[],
): string | undefined {
  const endings = reports
    .flatMap(({ ended }) => ended)
    .filter((one) => one.key === key && one.atMs >= openedAtMs)
    .sort((one, other) => other.atMs - one.atMs);
  return endings[0]?.detail;
}
