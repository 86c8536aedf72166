import type { BatchAttempt } from "../actors/warehouse.js";
import { mayGoWith } from "../model/identities.js";
import type { Cast } from "../scenario/cast.js";
import type { FinishedRun, Invariant } from "./invariant.js";

type Warehouse = NonNullable<Cast["warehouse"]>;

/** A message may have been read this long before it was erased. */
const READ_BEFORE_MS = 1_500;

/** Batches of a destination from outside. */
export const batchesHold: Invariant = {
  name: "batches-hold",
  promise:
    "A batch has the same range, messages and content at each attempt, also after a crash and whatever was changed, but for what was deleted. It stays together, and nothing else is sent, until it is answered or given up, or somebody changes the settings. Each message ends as the last answer about it says. Nothing that was deleted is in a later batch.",
  check(run) {
    const { warehouse } = run.cast;
    if (warehouse === undefined) return [];
    return [
      ...changedContent(warehouse, run),
      ...comeApart(warehouse, run),
      ...settledOtherwise(warehouse, run),
      ...sentAfterDeletion(warehouse, run),
    ];
  },
};

function isPurged({ cast: { history } }: FinishedRun, messageId: string, byMs: number): boolean {
  return history.purges.some(
    ({ identities, atMs }) =>
      atMs <= byMs && identities.some((identity) => mayGoWith(history, messageId, identity)),
  );
}

/** Whether a message had ended by then, and why: by an answer, or because its time was over. */
function hadEnded(
  { id }: Warehouse,
  { cast: { history } }: FinishedRun,
  position: number,
  byMs: number,
): boolean {
  return history.stored.outcomesOf(id, position).some(({ atMs }) => atMs <= byMs);
}

/** Attempts under one name that differ, or that follow an answer whose results were stored. */
function changedContent(warehouse: Warehouse, run: FinishedRun): string[] {
  const byName = Map.groupBy(warehouse.server.attempts, ({ id }) => id);
  return [...byName].flatMap(([id, [first, ...later]]) => {
    if (first === undefined) return [];
    const texts = new Map(first.rows.map(({ messageId, text }) => [messageId, text]));
    return later.flatMap((attempt) => {
      const { rows, range, atMs } = attempt;
      const now = new Set(rows.map(({ messageId }) => messageId));
      const wrong = rows.flatMap(({ messageId, text }) =>
        texts.get(messageId) === text ? [] : [`${messageId} is other in batch ${id} at ${atMs}`],
      );
      if (range.from !== first.range.from || range.to !== first.range.to)
        wrong.push(`batch ${id} has another range at ${atMs}`);
      for (const { messageId, position } of first.rows)
        if (
          !now.has(messageId) &&
          !isPurged(run, messageId, atMs) &&
          !wasGivenUp(warehouse, run, position, atMs)
        )
          wrong.push(`batch ${id} is without ${messageId} at ${atMs}`);
      return wrong;
    });
  });
}

/** The store says that it failed, and no answer had said so. */
function wasGivenUp(warehouse: Warehouse, run: FinishedRun, position: number, byMs: number): boolean {
  const { id, server } = warehouse;
  const isAnswered = server.attempts.some(
    ({ rows, answer }) =>
      answer !== undefined &&
      answer.atMs <= byMs &&
      answer.kinds[rows.findIndex((row) => row.position === position)] === "failed",
  );
  return (
    !isAnswered &&
    run.cast.history.stored
      .outcomesOf(id, position)
      .some(({ atMs, state }) => state === "failed" && atMs <= byMs)
  );
}

/** What followed a batch before it was answered. A process of a cluster that was replaced may not know that. */
function comeApart(warehouse: Warehouse, run: FinishedRun): string[] {
  if (run.cast.cluster !== undefined) return [];
  const { attempts } = warehouse.server;
  return attempts.flatMap((attempt, index) => {
    const next = attempts[index + 1];
    if (next === undefined || next.id === attempt.id || next.place !== attempt.place) return [];
    if (attempt.answer !== undefined && !attempt.answer.isWhole) return [];
    const isLeft = attempt.rows.some(
      ({ messageId, position }) =>
        !isPurged(run, messageId, next.atMs) && !hadEnded(warehouse, run, position, next.atMs),
    );
    return isLeft && !wasMoved(attempt, warehouse, next)
      ? [`batch ${next.id} followed ${attempt.id} at ${next.atMs}, which was not answered`]
      : [];
  });
}

/** Settings that were changed and changed back, or for which an earlier batch was given up meanwhile. */
function wasMoved(attempt: BatchAttempt, { changes }: Warehouse, next: BatchAttempt): boolean {
  return changes.some((atMs) => atMs >= attempt.atMs && atMs <= next.atMs);
}

/** Results that are not what the last answer says. */
function settledOtherwise(warehouse: Warehouse, { cast, messages, deliveryOf }: FinishedRun): string[] {
  const { id, server, sources, wasDisabled } = warehouse;
  const last = new Map<string, string>();
  for (const { rows, answer } of server.attempts)
    rows.forEach(({ messageId }, index) => {
      const kind = answer?.kinds[index];
      if (kind !== undefined) last.set(messageId, kind);
    });
  const wanted = new Set(sources.map((index) => cast.sources[index]?.id));
  return messages.flatMap(({ messageId, sourceId, offset, onlyDestinations }) => {
    if (onlyDestinations !== undefined || !wanted.has(sourceId)) return [];
    const { state } = deliveryOf({ id }, offset) ?? {};
    const kind = last.get(messageId);
    const isRight =
      kind === "delivered" || kind === "failed"
        ? state === kind
        : state === "failed" ||
          state === "suppressed" ||
          state === "filtered" ||
          (state === "skipped" && wasDisabled);
    return isRight ? [] : [`${messageId} ended as ${state}, and the last answer was ${kind}`];
  });
}

function sentAfterDeletion({ server }: Warehouse, { cast: { history } }: FinishedRun): string[] {
  const firstMs = new Map<string, number>();
  for (const { id, atMs } of server.attempts) if (!firstMs.has(id)) firstMs.set(id, atMs);
  return history.deletions.flatMap(({ identity, requestedAtMs }) => {
    const purgedMs = history.purges.findLast(({ identities }) => identities.includes(identity))?.atMs;
    if (purgedMs === undefined) return [];
    const before = new Set(
      history.acknowledgements
        .filter(({ atMs }) => atMs < requestedAtMs)
        .flatMap(({ messageIds }) => messageIds)
        .filter((messageId) => {
          const { userId, anonymousId } = history.fields.get(messageId) ?? {};
          return identity === (userId === undefined ? `a:${String(anonymousId)}` : `u:${String(userId)}`);
        }),
    );
    return server.attempts.flatMap(({ id, rows, atMs }) => {
      const isLater = (firstMs.get(id) ?? 0) > purgedMs || atMs > purgedMs + READ_BEFORE_MS;
      if (!isLater) return [];
      return rows
        .filter(({ messageId }) => before.has(messageId))
        .map(
          ({ messageId }) => `${messageId} of ${identity} was in batch ${id} at ${atMs}, after the deletion`,
        );
    });
  });
}
