import type { Audiences } from "@sluice/audiences";
import { formatTime } from "@sluice/protocol";
import { ERRORS, type ErrorCode } from "../../errors.js";
import type { Counters, LastHour } from "../../history/counters.js";
import { isDiskLow } from "../../incidents/disk-low.js";
import type { Incidents } from "../../incidents/start-incidents.js";
import type { WrongKey, WrongKeys } from "../../ingest/wrong-keys.js";
import { withoutUndefined } from "../document-resource.js";
import { type Endpoint, endpoint } from "../endpoint/endpoint.js";
import { maskUrls } from "../masking.js";
import { pageOfDocuments } from "../paging.js";
import { diskView, storageView } from "./collector-endpoints.js";

export interface ProblemSources {
  readonly counters: Pick<Counters, "lastHour">;
  readonly wrongKeys: Pick<WrongKeys, "read">;
  readonly incidents: Pick<Incidents, "list">;
  readonly audiences: Pick<Audiences, "refusedJoinsBySource">;
}

/** What is wrong with the collector now, in one answer for all who show it. */
export function problemEndpoints({
  counters,
  wrongKeys,
  incidents: known,
  audiences,
}: ProblemSources): readonly Endpoint[] {
  const problems = endpoint("GET /problems", async ({ token }, { store, readDisk }) => {
    const [{ refused }, disk] = await Promise.all([counters.lastHour(), readDisk().catch(() => undefined)]);
    const incidents = known.list().filter(({ state }) => state === "open");
    const wasLow = incidents.some(({ kind }) => kind === "disk_low");
    const body = withoutUndefined({
      storage: storageView(store),
      disk: disk && { ...diskView(disk), isLow: isDiskLow(disk, wasLow) },
      refusedRequests: refused.map(refusedView),
      wrongKeys: wrongKeys.read().map(wrongKeyView),
      refusedJoins: [...audiences.refusedJoinsBySource].map(([sourceId, messages]) => ({
        sourceId,
        messages,
      })),
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

function wrongKeyView({ firstMs, lastMs, ...shown }: WrongKey) {
  return withoutUndefined({ ...shown, firstAt: formatTime(firstMs), lastAt: formatTime(lastMs) });
}
