import type {
  DeletionInput,
  DeletionPlan,
  DeletionView,
  OperationCount,
  OperationInput,
  OperationView,
  ReplayInput,
  ReplayView,
} from "@sluice/control-api";
import { anonymousIdentity, userIdentity } from "@sluice/event-log";
import { BY_CREATION } from "../../admin/shared-runs/shared-run.js";
import { CollectorError } from "../../errors.js";
import type { Handler, HttpAnswer, HttpRequest, Route } from "../../http/routing/route.js";
import type { FindJoinedIds } from "../audiences/profile-calls.js";
import { answerOf, type Owners, type PartAnswer, type Question } from "./ask-owners.js";
import { begunRuns } from "./begun-runs.js";
import { mergedPage } from "./merge-list.js";
import { mergeDeletions, mergeOperations, mergePlans, mergeReplays } from "./merge-runs.js";
import { isOfOnePart, readDeliveryId, splitId } from "./qualified-ids.js";
import { readBody } from "./read-body.js";

const API = "/api/v1";
const BODY_BYTES = 2 * 1_024 * 1_024;
const PER_SECOND = 200;

type RunView = { readonly id: string; readonly createdAt: string };
type Runs<V> = readonly { readonly partition: number; readonly view: V }[];

/** Operations, replays and deletions: each runs in every partition that it concerns. */
export function runRoutes(owners: Owners, findJoinedIds: FindJoinedIds): readonly Route[] {
  const list =
    <V extends RunView>(merged: (runs: Runs<V>) => V): Handler =>
    (request) =>
      mergedPage<V>(owners, request, { isBefore: BY_CREATION.isBefore, merged });
  const operation = (request: HttpRequest) => askRuns(owners, request, "/operations", mergeOperations);
  const deletion = (request: HttpRequest) => askRuns(owners, request, "/deletions", mergeDeletions);
  return [
    {
      path: `${API}/operations`,
      methods: { GET: list(mergeOperations), POST: (request) => startOperation(owners, request) },
    },
    { path: `${API}/operations/:id`, methods: { GET: operation } },
    { path: `${API}/operations/:id/cancel`, methods: { POST: operation } },
    { path: `${API}/replays`, methods: { POST: (request) => startReplay(owners, request) } },
    {
      path: `${API}/deletions`,
      methods: {
        GET: list(mergeDeletions),
        POST: (request) => startDeletion(owners, request, findJoinedIds),
      },
    },
    { path: `${API}/deletions/:id`, methods: { GET: deletion } },
    { path: `${API}/deletions/:id/retry`, methods: { POST: deletion } },
    { path: `${API}/deletions/:id/give-up`, methods: { POST: deletion } },
    {
      path: `${API}/suppressions`,
      methods: {
        GET: async (request) =>
          withoutRepetitions(
            await mergedPage<{ readonly since: string }>(owners, request, {
              isBefore: (one, other) => one.since < other.since,
            }),
          ),
      },
    },
    {
      path: `${API}/suppressions/:userId`,
      methods: { DELETE: (request) => liftSuppression(owners, request) },
    },
  ];
}

/** Asks each partition in which something runs about its part. */
async function askRuns<V>(
  owners: Owners,
  request: HttpRequest,
  collection: string,
  merge: (runs: Runs<V>) => V,
): Promise<HttpAnswer> {
  const id = request.params.id ?? "";
  const parts = isOfOnePart(id) ? owners.partitions.map((partition) => ({ partition, id })) : splitId(id);
  const named = new Set(parts.map(({ partition }) => partition));
  // Each partition has one part at most.
  if (named.size < parts.length || ![...named].every((partition) => owners.partitions.includes(partition)))
    throw new CollectorError("not_found", `there is no ${id}`);
  const [, action = ""] = /\/(cancel|retry|give-up)\/?$/.exec(request.path) ?? [];
  const body = ["GET", "HEAD"].includes(request.method) ? undefined : await readBody(request, BODY_BYTES);
  const run = body === undefined ? undefined : owners.newRun();
  const answers = await Promise.all(
    parts.map((part) =>
      owners.ask(part.partition, request, {
        path: `${API}${collection}/${encodeURIComponent(part.id)}${action === "" ? "" : `/${action}`}`,
        ...(body === undefined ? {} : { body, run }),
      }),
    ),
  );
  // It runs only where there is something to do.
  const found = answers.filter(({ status }) => status !== 404);
  return mergedRuns(found.length === 0 ? answers : found, merge);
}

/** A part that has nothing to retry or to give up does not hinder the others. */
function mergedRuns<V>(answers: readonly PartAnswer[], merge: (runs: Runs<V>) => V): HttpAnswer {
  const failed = answers.find(({ status }) => status >= 300 && status !== 409);
  const done = answers.filter(({ status }) => status < 300);
  if (failed !== undefined || done.length === 0) return answerOf(failed ?? mostTelling(answers));
  const runs = done.map(({ partition, body }) => ({ partition, view: body as V }));
  return { status: done[0]?.status ?? 200, body: merge(runs) as object };
}

/** Of several refusals: parts without anything to do say `conflict`, and one may say what hinders it. */
function mostTelling(answers: readonly PartAnswer[]): PartAnswer {
  const codeOf = ({ body }: PartAnswer) => (body as { readonly code?: string } | undefined)?.code;
  return (answers.find((answer) => codeOf(answer) !== "conflict") ?? answers[0]) as PartAnswer;
}

async function startOperation(owners: Owners, request: HttpRequest): Promise<HttpAnswer> {
  const input = (await readBody(request, BODY_BYTES)) as OperationInput;
  const byPartition = Array.isArray(input?.ids) ? idsByPartition(input.ids) : undefined;
  const concerned = byPartition === undefined ? owners.partitions : [...byPartition.keys()];
  const inputOf = (partition: number, more: Partial<OperationInput>): OperationInput => ({
    ...input,
    ...(byPartition === undefined ? {} : { ids: (byPartition.get(partition) ?? []) as readonly string[] }),
    ...more,
  });
  if (concerned.some((partition) => !owners.partitions.includes(partition)))
    throw new CollectorError("not_found", "an id is not that of a delivery");
  const path = `${API}/operations`;
  const place = { collection: "/operations", prefix: input.kind === "replay" ? "rpl" : "op" };
  const { run, parts, rest } = await begunRuns(owners, request, concerned, input, place);
  const counts = await askEach(owners, request, rest, path, (one) => inputOf(one, { dryRun: true }));
  const refusal = counts.find(({ status }) => status !== 200);
  if (refusal !== undefined) return answerOf(refusal);
  const totals = counts.map(({ partition, body }) => ({ partition, ...(body as OperationCount) }));
  if (input.dryRun === true)
    return { status: 200, body: { total: totals.reduce((sum, { total }) => sum + total, 0) } };
  const busy = totals.filter(({ total }) => total > 0).map(({ partition }) => partition);
  // One without deliveries says that there were none.
  const started = busy.length + parts.length === 0 ? concerned.slice(0, 1) : busy;
  const shares = started.length + parts.length;
  const perSecond = Math.max(1, Math.floor((input.perSecond ?? PER_SECOND) / shares));
  const bodyOf = (one: number): object => inputOf(one, { perSecond });
  const answers = await askEach(owners, request, started, path, bodyOf, { run });
  return mergedRuns<OperationView>([...answers, ...withStatus(parts, 202)], mergeOperations);
}

/** The answers that an earlier request got. */
function withStatus(parts: readonly PartAnswer[], status: number): readonly PartAnswer[] {
  return parts.map((part) => ({ ...part, status }));
}

/** Of `OperationInput`. */
const MOST_DELIVERIES = 1_000;

/** The ids that each partition knows. What is no list of ids goes to the first one whole, which refuses it. */
function idsByPartition(ids: readonly unknown[]): ReadonlyMap<number, readonly unknown[]> {
  if (ids.length === 0 || ids.length > MOST_DELIVERIES) return new Map([[0, ids]]);
  const found = new Map<number, unknown[]>();
  for (const id of ids) {
    const part = (typeof id === "string" ? readDeliveryId(id) : undefined) ?? { partition: 0, id };
    const known = found.get(part.partition);
    if (known === undefined) found.set(part.partition, [part.id]);
    else known.push(part.id);
  }
  return found;
}

async function startReplay(owners: Owners, request: HttpRequest): Promise<HttpAnswer> {
  const input = (await readBody(request, BODY_BYTES)) as ReplayInput;
  const path = `${API}/replays`;
  const place = { collection: "/operations", prefix: "rpl" };
  const { run, parts, rest } = await begunRuns(owners, request, owners.partitions, input, place);
  const counts = await askEach(owners, request, rest, path, () => ({ ...input, dryRun: true }));
  const refusal = counts.find(({ status }) => status !== 200);
  if (refusal !== undefined) return answerOf(refusal);
  const views = counts.map(({ partition, body }) => ({ partition, view: body as ReplayView }));
  if (input.dryRun === true) return { status: 200, body: mergeReplays(views) };
  const busy = views.filter(({ view }) => view.count > 0).map(({ partition }) => partition);
  const started = busy.length + parts.length === 0 ? [0] : busy;
  const answers = await askEach(owners, request, started, path, () => input, { run });
  const begun = withStatus(parts, 201).map((part) => {
    const { id, total } = part.body as OperationView;
    return { ...part, body: { id, count: total } };
  });
  return mergedRuns<ReplayView>([...answers, ...begun], mergeReplays);
}

/**
 * Deletes users in every partition. Partition 0 knows the ids that belong to a user, and forgets them when the first partition's deletion
 * has come so far. So each is told them.
 */
async function startDeletion(
  owners: Owners,
  request: HttpRequest,
  findJoinedIds: FindJoinedIds,
): Promise<HttpAnswer> {
  const input = (await readBody(request, BODY_BYTES)) as DeletionInput;
  const path = `${API}/deletions`;
  const { partitions } = owners;
  const place = { collection: "/deletions", prefix: "del" };
  const { run, parts, rest } = await begunRuns(owners, request, partitions, input, place);
  const dryRun = { ...input, dryRun: true };
  const planned = await askEach(owners, request, partitions, path, () => dryRun, { isAside: true });
  const refusal = planned.find(({ status }) => status !== 200);
  if (refusal !== undefined) return answerOf(refusal);
  if (input.dryRun === true)
    return { status: 200, body: mergePlans(planned.map(({ body }) => body as DeletionPlan)) };
  const { userIds = [], anonymousIds = [], includeAliases = false } = input;
  const identities = [...userIds.map(userIdentity), ...anonymousIds.map(anonymousIdentity)];
  const joined = await findJoinedIds(identities, includeAliases, request.signal);
  const answers = await askEach(owners, request, rest, path, () => ({ ...input, joined }), { run });
  // As from one collector: only the first answer names other users.
  const begun = withStatus(parts, 201).map((part) => {
    const { aliases: _, ...kept } = part.body as DeletionView;
    return { ...part, body: kept };
  });
  return mergedRuns<DeletionView>([...answers, ...begun], mergeDeletions);
}

async function liftSuppression(owners: Owners, request: HttpRequest): Promise<HttpAnswer> {
  const path = request.query.size === 0 ? request.path : `${request.path}?${request.query}`;
  const run = owners.newRun();
  const answers = await Promise.all(
    owners.partitions.map((partition) => owners.ask(partition, request, { path, run })),
  );
  const failed = answers.find(({ status }) => status >= 300 && status !== 404);
  return answerOf(failed ?? answers.find(({ status }) => status < 300) ?? (answers[0] as PartAnswer));
}

function withoutRepetitions(answer: HttpAnswer): HttpAnswer {
  if (answer.status !== 200) return answer;
  const page = answer.body as { readonly items: readonly { readonly idHmac?: string }[] };
  const items = new Map(page.items.map((item) => [item.idHmac, item]));
  return { ...answer, body: { ...page, items: [...items.values()] } };
}

function askEach(
  owners: Owners,
  request: HttpRequest,
  partitions: readonly number[],
  path: string,
  bodyOf: (partition: number) => object,
  more: Pick<Question, "run" | "isAside"> = {},
): Promise<readonly PartAnswer[]> {
  return Promise.all(
    partitions.map((partition) =>
      owners.ask(partition, request, { method: "POST", path, body: bodyOf(partition), ...more }),
    ),
  );
}
