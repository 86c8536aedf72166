import { formatTime } from "@sluice/protocol";
import { ERRORS, type ErrorCode } from "../../errors.js";
import type { Counters, LastHour } from "../../history/counters.js";
import { isDiskLow } from "../../incidents/disk-low.js";
import type { Incidents } from "../../incidents/start-incidents.js";
import type { WrongKeys } from "../../ingest/ingest-metrics.js";
import type { Happened, Recent } from "../../process/telemetry/recent.js";
import { withoutUndefined } from "../document-resource.js";
import { type Endpoint, endpoint } from "../endpoint/endpoint.js";
import { maskUrls } from "../masking.js";
import { pageOfDocuments } from "../paging.js";
import { diskView, storageView } from "./collector-endpoints.js";

export interface ProblemSources {
  readonly counters: Pick<Counters, "lastHour">;
  readonly wrongKeys: Pick<WrongKeys, "recent">;
  readonly incidents: Pick<Incidents, "list">;
  readonly refusedJoins: Pick<Recent<RefusedJoinsOf>, "read">;
}

/** The source of messages that asked for ids to be joined that were not. */
export interface RefusedJoinsOf {
  readonly sourceId: string;
}

/** What is wrong with the collector now, in one answer for all who show it. */
export function problemEndpoints({
  counters,
  wrongKeys,
  incidents: known,
  refusedJoins,
}: ProblemSources): readonly Endpoint[] {
  const problems = endpoint("GET /problems", async ({ token }, { store, readDisk }) => {
    const [{ refused }, disk] = await Promise.all([counters.lastHour(), readDisk().catch(() => undefined)]);
    const incidents = known.list().filter(({ state }) => state === "open");
    const wasLow = incidents.some(({ kind }) => kind === "disk_low");
    const body = withoutUndefined({
      storage: storageView(store),
      disk: disk && { ...diskView(disk), isLow: isDiskLow(disk, wasLow) },
      refusedRequests: refused.map(refusedView),
      wrongKeys: wrongKeys.recent.read().map(({ times, ...one }) => ({ requests: times, ...timesOf(one) })),
      refusedJoins: refusedJoins.read().map(({ times, ...one }) => ({ messages: times, ...timesOf(one) })),
      incidents,
    });
    return { status: 200, body: maskUrls(token, body) };
  });
  const incidents = endpoint("GET /incidents", async ({ query, token }) => {
    return { status: 200, body: maskUrls(token, pageOfDocuments(known.list(), query)) };
  });
  return [problems, incidents];
}

function refusedView({ code, counts: { requests }, lastMs }: LastHour["refused"][number]) {
  const status = Object.hasOwn(ERRORS, code) ? ERRORS[code as ErrorCode].status : 500;
  return withoutUndefined({
    code,
    status,
    requests,
    lastAt: lastMs === undefined ? undefined : formatTime(lastMs),
  });
}

function timesOf<What extends object>({ firstMs, lastMs, ...shown }: What & Omit<Happened, "times">) {
  return withoutUndefined({ ...shown, firstAt: formatTime(firstMs), lastAt: formatTime(lastMs) });
}
