import type {
  ActivityView,
  AuditEntryView,
  CollectorHealthView,
  DeliveryGroupPage,
  DestinationRatesView,
  DestinationStatusView,
  EventNamesView,
  RatesView,
} from "@sluice/control-api";
import { BY_CHANGE } from "../../admin/shared-runs/shared-run.js";
import { CollectorError } from "../../errors.js";
import type { Handler, HttpAnswer, HttpRequest, Route } from "../../http/routing/route.js";
import type { FindJoinedIds } from "../audiences/profile-calls.js";
import { asControlApi, forKnownTokens } from "./as-control-api.js";
import { answerOf, type Owners, type PartAnswer } from "./ask-owners.js";
import { mergedLive } from "./live-streams.js";
import { type MergedList, mergedPage } from "./merge-list.js";
import {
  mergeActivity,
  mergeDestinationRates,
  mergeEventNames,
  mergeGroups,
  mergeHealth,
  mergeRates,
  mergeStatus,
} from "./merge-views.js";
import { mergedBackup } from "./merged-backup.js";
import { readDeliveryId, withDeliveryIds } from "./qualified-ids.js";
import { readBody } from "./read-body.js";
import { runRoutes } from "./run-routes.js";

const API = "/api/v1";
const BODY_BYTES = 64 * 1_024;

/** The endpoints of the control API that concern all partitions. The control partition answers all others. */
export function gatewayRoutes(owners: Owners, findJoinedIds: FindJoinedIds): readonly Route[] {
  const get = (path: string, handler: Handler): Route => ({
    path: `${API}${path}`,
    methods: { GET: handler },
  });
  const list = <T>(path: string, how: MergedList<T>): Route =>
    get(path, (request) => mergedPage(owners, request, how));
  const merged = <T>(path: string, merge: (parts: readonly T[], request: HttpRequest) => object): Route =>
    get(path, async (request) => {
      const answers = await askAll(owners, request);
      return mergedAnswer<T>(answers, (parts) => merge(parts, request));
    });
  const delivery: Handler = (request) => oneDelivery(owners, request);
  return asControlApi([
    list("/messages", newestFirst("receivedAt", withDeliveryIds)),
    list("/rejected-messages", newestFirst("receivedAt")),
    list("/deliveries", newestFirst("at", withDeliveryIds)),
    list("/audit", AUDIT),
    get("/messages/:messageId", (request) => newestMessage(owners, request)),
    get("/wait", (request) => firstToKnow(owners, request)),
    get("/live", (request) => mergedLive(owners, request, pathOf(request))),
    get("/deliveries/:id", delivery),
    { path: `${API}/deliveries/:id/retry`, methods: { POST: delivery } },
    merged<DeliveryGroupPage>("/delivery-groups", (parts, { query }) =>
      mergeGroups(parts, Number(query.get("limit") ?? 50)),
    ),
    merged<ActivityView>("/activity", mergeActivity),
    merged<EventNamesView>("/event-names", mergeEventNames),
    merged<CollectorHealthView>("/health", mergeHealth),
    merged<DestinationStatusView>("/destinations/:id/status", mergeStatus),
    merged<DestinationRatesView>("/destinations/:id/rates", mergeDestinationRates),
    merged<RatesView>("/rates", mergeRates),
    ...forKnownTokens(
      [
        ...runRoutes(owners, findJoinedIds),
        { path: `${API}/reset`, methods: { POST: (request) => resetAll(owners, request) } },
        { path: `${API}/backups`, methods: { POST: (request) => mergedBackup(owners, request) } },
      ],
      owners,
    ),
  ]);
}

function newestFirst<N extends string>(
  name: N,
  shown?: <T>(item: T, partition: number) => T,
): MergedList<{ readonly [name in N]?: string }> {
  return {
    isBefore: (one, other) => (one[name] ?? "") > (other[name] ?? ""),
    ...(shown === undefined ? {} : { shown }),
  };
}

/** A request to several partitions is one entry in each of them, with the same id. */
const AUDIT: MergedList<AuditEntryView> = {
  isBefore: BY_CHANGE.isBefore,
  merged: (entries) => (entries[0] as (typeof entries)[number]).view,
};

function pathOf({ path, query }: HttpRequest): string {
  return query.size === 0 ? path : `${path}?${query}`;
}

/** Groups and other lists are asked for whole, as far as one page goes. */
function askAll(owners: Owners, request: HttpRequest): Promise<readonly PartAnswer[]> {
  return Promise.all(
    owners.partitions.map((partition) => owners.ask(partition, request, { path: pathOf(request) })),
  );
}

/** Empties every partition, when all of them have an owner. */
async function resetAll(owners: Owners, request: HttpRequest): Promise<HttpAnswer> {
  await readBody(request, BODY_BYTES);
  const { partitions } = owners;
  const ready = await Promise.all(
    partitions.map((partition) => owners.ask(partition, request, { method: "GET", path: `${API}/info` })),
  );
  const refusal = ready.find(({ status }) => status !== 200);
  if (refusal !== undefined) return answerOf(refusal);
  const run = owners.newRun();
  const answers = await Promise.all(
    partitions.map((partition) => owners.ask(partition, request, { path: request.path, run })),
  );
  return answerOf(answers.find(({ status }) => status >= 300) ?? (answers[0] as PartAnswer));
}

function mergedAnswer<T>(answers: readonly PartAnswer[], merge: (parts: readonly T[]) => object): HttpAnswer {
  const refusal = answers.find(({ status }) => status !== 200);
  if (refusal !== undefined) return answerOf(refusal);
  return { status: 200, body: merge(answers.map(({ body }) => body as T)) };
}

async function oneDelivery(owners: Owners, request: HttpRequest): Promise<HttpAnswer> {
  const id = request.params.id ?? "";
  const found = readDeliveryId(id) ?? { partition: 0, id };
  if (!owners.partitions.includes(found.partition))
    throw new CollectorError("not_found", `there is no delivery ${id}`);
  const path = `${API}/deliveries/${encodeURIComponent(found.id)}${request.path.endsWith("/retry") ? "/retry" : ""}`;
  const { status, body } = await owners.ask(found.partition, request, { path });
  return answerOf({ status, body: withDeliveryIds(body, found.partition) });
}

async function newestMessage(owners: Owners, request: HttpRequest): Promise<HttpAnswer> {
  const answers = await askAll(owners, request);
  const failed = answers.find(({ status }) => status !== 200 && status !== 404);
  if (failed !== undefined) return answerOf(failed);
  type Found = { readonly state: string; readonly receivedAt: string };
  const found = answers
    .filter(({ status }) => status === 200)
    .toSorted((one, other) => {
      const [a, b] = [one.body as Found, other.body as Found];
      // A stored message says more than one that was refused elsewhere.
      if (a.state !== b.state) return a.state === "accepted" ? -1 : 1;
      return a.receivedAt > b.receivedAt ? -1 : 1;
    })[0];
  if (found === undefined) return answerOf(answers[0] as PartAnswer);
  return answerOf({ status: 200, body: withDeliveryIds(found.body, found.partition) });
}

/** The partition that has the message answers; the others only know that they do not have it. */
async function firstToKnow(owners: Owners, request: HttpRequest): Promise<HttpAnswer> {
  const over = new AbortController();
  const signal = AbortSignal.any([request.signal, over.signal]);
  const known = Promise.withResolvers<PartAnswer>();
  const asked = owners.partitions.map(async (partition) => {
    const answer = await owners.ask(partition, request, { path: pathOf(request), signal });
    if (answer.status !== 408) known.resolve(answer);
    return answer;
  });
  const all = Promise.all(asked);
  // If a partition cannot be asked, another one may still know the message.
  const none = Promise.allSettled(asked)
    .then(() => all)
    .then((answers) => (answers.find(knowsMessage) ?? answers[0]) as PartAnswer);
  try {
    const { status, body, partition } = await Promise.race([known.promise, none]);
    return answerOf({ status, body: withDeliveryIds(body, partition) });
  } finally {
    over.abort();
  }
}

/** It has the message, which has not come as far as was wanted. */
function knowsMessage({ body }: PartAnswer): boolean {
  return ((body as { readonly now?: object | null } | undefined)?.now ?? null) !== null;
}
