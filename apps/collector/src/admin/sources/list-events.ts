import type { EventListView, EventView } from "@sluice/control-api";
import type { Offset, Store } from "@sluice/event-log";
import { formatTime, isPlainObject, isPlanned, KB, type Plan } from "@sluice/protocol";
import type { EventEntry } from "../../events/event-entry.js";
import { keyOf } from "../../events/source-events.js";
import type { AdminContext } from "../context.js";
import { withoutUndefined } from "../document-resource.js";
import { pageOfDocuments } from "../paging.js";

/** A longer example is left out: the message's own page shows it. */
const EXAMPLE_BYTES = 4 * KB;

/** A page of the names that a source sent. Examples are read from the log, so a deletion has removed them. */
export async function listEvents(
  sourceId: string,
  query: { readonly limit?: number; readonly cursor?: string },
  { store, events, planOf }: Pick<AdminContext, "store" | "events" | "planOf">,
): Promise<EventListView> {
  const kept = events.of(sourceId);
  // All at one moment: names that arrive while examples are read are not in the list.
  const { behind } = events;
  const { notKept } = kept;
  const all = kept.list().map((entry) => ({ id: keyOf(entry), entry }));
  const page = pageOfDocuments(all, query);
  const plan = planOf(sourceId)?.plan;
  const items = await Promise.all(page.items.map(({ entry }) => eventView(entry, plan, store)));
  return { ...page, items, names: all.length, notKept, behind };
}

async function eventView(
  entry: EventEntry,
  plan: Plan | undefined,
  store: Pick<Store, "log">,
): Promise<EventView> {
  const { type, name, count, sampled, properties, hasMoreProperties, lastViolation } = entry;
  const coverage = plan === undefined ? "unchecked" : isPlanned(type, name, plan);
  return withoutUndefined({
    type,
    name,
    count,
    firstSeenAt: formatTime(entry.firstMs),
    lastSeenAt: formatTime(entry.lastMs),
    isPlanned: coverage === "unchecked" ? undefined : coverage === "planned",
    violations: entry.violations ?? 0,
    lastViolation: lastViolation === undefined ? undefined : violationView(lastViolation),
    sampled,
    properties: Object.entries(properties)
      .map(([property, { types, seen }]) => ({ name: property, types: [...types], seen }))
      .sort((one, other) => (one.name < other.name ? -1 : 1)),
    hasMoreProperties,
    example: await exampleOf(entry, store),
  });
}

function violationView({ atMs, path, message }: NonNullable<EventEntry["lastViolation"]>) {
  return { at: formatTime(atMs), path, message };
}

async function exampleOf(
  { example }: EventEntry,
  { log }: Pick<Store, "log">,
): Promise<EventView["example"]> {
  const stored = example === undefined ? undefined : await log.get(example as Offset).catch(() => undefined);
  if (stored === undefined) return undefined;
  const { properties, traits } = stored.message;
  const data = isPlainObject(properties) ? properties : isPlainObject(traits) ? traits : undefined;
  return {
    messageId: stored.messageId,
    receivedAt: formatTime(stored.receivedAtMs),
    ...(data === undefined || JSON.stringify(data).length > EXAMPLE_BYTES ? {} : { data }),
  };
}
