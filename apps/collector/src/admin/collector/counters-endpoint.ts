import { AUDIENCE, type AudienceDocument } from "@sluice/audiences";
import type { ActivityView, RateSpan, SizeSpan } from "@sluice/control-api";
import { DOCUMENT_KINDS, type EventLog, type Store } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import type { DestinationDocument, SourceDocument } from "../../documents/documents.js";
import { CollectorError } from "../../errors.js";
import type { Counters } from "../../history/counters.js";
import type { SizeHistory } from "../../history/size-history.js";
import { destinations } from "../destinations/destination-endpoints.js";
import { documentResource, withoutUndefined } from "../document-resource.js";
import { type Endpoint, endpoint } from "../endpoint/endpoint.js";

export interface CounterSources {
  readonly counters: Pick<Counters, "lastHour" | "rates" | "destinationRates">;
  readonly sizes: Pick<SizeHistory, "read">;
}

const audiences = documentResource<AudienceDocument>(AUDIENCE, "audience");

/** Everything that is counted over time, and the sizes of audiences. */
export function countersEndpoint({ counters, sizes }: CounterSources): Endpoint {
  const lastBefore = lastMessages();
  return endpoint("GET /counters", async ({ query: { of, span } }, { store }) => {
    if (of === undefined) return { status: 200, body: await activityOf(counters, store, lastBefore) };
    const [kind = "", id = ""] = of.split(/:(.*)/s);
    if (kind === "audience") {
      const known = await audiences.find(store.config, id);
      return { status: 200, body: await sizes.read(known.id, oneOfSpans(span, SIZES, "week")) };
    }
    const rateSpan = oneOfSpans(span, RATES, "1h");
    if (kind === "destination") {
      const known = await destinations.find(store.config, id);
      return { status: 200, body: counters.destinationRates(known.id, rateSpan) };
    }
    return { status: 200, body: counters.rates(rateSpan) };
  });
}

const RATES: readonly RateSpan[] = ["5m", "1h", "24h"];
const SIZES: readonly SizeSpan[] = ["week", "year"];

function oneOfSpans<Span extends string>(
  span: string | undefined,
  spans: readonly Span[],
  byDefault: Span,
): Span {
  const found = span === undefined ? byDefault : spans.find((one) => one === span);
  if (found !== undefined) return found;
  throw new CollectorError("invalid_request", `span: must be one of ${spans.join(", ")} here, got ${span}`);
}

/** The last hour of every source and destination. */
async function activityOf(
  counters: Pick<Counters, "lastHour">,
  { config, log }: Pick<Store, "config" | "log">,
  lastBefore: ReturnType<typeof lastMessages>,
): Promise<ActivityView> {
  const [now, sources, all] = await Promise.all([
    counters.lastHour(),
    config.list<SourceDocument>(DOCUMENT_KINDS.source),
    config.list<DestinationDocument>(DOCUMENT_KINDS.destination),
  ]);
  lastBefore.keep(new Set(sources.map(({ id }) => id)));
  return {
    overMs: Math.round(now.overMs),
    sources: await Promise.all(
      sources.map(async ({ id }) => {
        const { counts, lastMs = await lastBefore.read(log, id) } = now.source(id);
        return withoutUndefined({ sourceId: id, ...counts, lastMessageAt: timeOf(lastMs) });
      }),
    ),
    destinations: all.map(({ id }) => {
      const { lastMs, counts } = now.destination(id);
      return withoutUndefined({ destinationId: id, ...counts, lastDeliveryAt: timeOf(lastMs) });
    }),
  };
}

/** When sources sent their last message before the collector's start; undefined if the log has none of them. */
function lastMessages() {
  const known = new Map<string, number | undefined>();
  return {
    async read(log: EventLog, sourceId: string): Promise<number | undefined> {
      if (!known.has(sourceId)) {
        const { items } = await log.find({ sourceId }, { limit: 1 });
        known.set(sourceId, items[0]?.receivedAtMs);
      }
      return known.get(sourceId);
    },
    keep(ids: ReadonlySet<string>): void {
      for (const id of known.keys()) if (!ids.has(id)) known.delete(id);
    },
  };
}

function timeOf(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : formatTime(ms);
}
