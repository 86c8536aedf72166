import type { ProfileCommit } from "../../ports/profiles.js";
import type { Applied } from "../calls/applied.js";
import type { AppliedEntry, Call, CallAnswer, OperationName } from "../calls/operations.js";
import { DONE, isWrite } from "../calls/operations.js";
import { Refusal, refusedWith } from "../calls/refusal.js";
import { asRefusal } from "../database/damage.js";
import type { LoggedSettings } from "./applied-mark.js";
import type { LoggedCall } from "./call-codec.js";
import { decodeEntry, MOVE_IN, type Part } from "./entry.js";
import { judge } from "./judge.js";

/** The first entry of each session. From it on, entries of other sessions are ignored. */
export interface Takeover {
  readonly node: string;
  readonly term: number;
  /** For the hashes of keys. It is the same in all copies and never changes. */
  readonly seed: number;
  readonly settings: LoggedSettings;
}

/** An open copy, as far as entries change it. Methods that return a store replace this one. */
export interface CopyStore<Self> {
  readonly applied: Applied;
  /** Commits `applied` alone, for an entry that changes nothing else. */
  note(applied: Applied): void;
  /** The same for an entry that is ignored, which may stand between the parts of another one. */
  ignore(applied: Applied): void;
  takeOver(takeover: Takeover, applied: Applied): Self;
  clear(applied: Applied): Self;
  /** The parts that were kept since the last entry of another kind. */
  readonly parts: readonly Uint8Array[];
  keepPart(part: Part, applied: Applied): void;
  beginCompaction(): void;
  compactProfiles(): void;
  /** Seals the segments that are full. Otherwise it would depend on the thread's free time which segments can be dropped. */
  finishSealing(): void;
  /**
   * Runs calls as one entry. A call that fails because of a mistake in its handler fails in every copy: it is refused, so that it does not
   * stop all of them. Throws if the disk failed or stored data of a copy is damaged.
   */
  commitEntry(calls: readonly Call[], applied: Applied): readonly CallAnswer[];
  /** Commits changes of profiles, unless their file has this entry already. Returns those that were left out because they failed. */
  commitProfiles(changes: readonly ProfileCommit[], applied: Applied): ReadonlyMap<ProfileCommit, unknown>;
}

export interface AppliedTo<Store> {
  readonly store: Store;
  readonly answer: AppliedEntry;
}

/** Applies the next entry of the log to a copy. Throws a `Refusal` if it is not the next one. */
export function applyEntry<Store extends CopyStore<Store>>(
  store: Store,
  sequence: number,
  data: Uint8Array<ArrayBuffer>,
): AppliedTo<Store> {
  const before = store.applied;
  if (sequence !== before.sequence + 1)
    throw new Refusal("internal", `entry ${sequence} does not follow entry ${before.sequence}`);
  const entry = decodeEntry(data);
  const [first] = entry.calls;
  if (first?.operation === MOVE_IN)
    throw new Refusal(
      "internal",
      "a migration into this cluster is not finished: run the same `sluice migrate` command again",
    );
  if (judge(before, entry, first?.operation === "takeover") === "ignore") {
    const applied = { ...before, sequence };
    store.ignore(applied);
    return { store, answer: { applied } };
  }
  const { session, number } = entry;
  const written = first?.operation === "part" ? assembled(store, first.request as Part) : entry.calls;
  const { calls, trustedMs } = inTime(written, before.trustedMs);
  const profiles = calls.some(isOfProfiles) ? sequence : before.profiles;
  return applyCalls(store, calls, { session, number, sequence, trustedMs, profiles });
}

/** The calls that a last part completes. Before that, the part itself. */
function assembled<Store extends CopyStore<Store>>(store: Store, part: Part): readonly LoggedCall[] {
  if (part.place + 1 < part.count) return [{ operation: "part", request: part }];
  return decodeEntry(Uint8Array.from(Buffer.concat([...store.parts, part.data]))).calls;
}

function isOfProfiles({ operation }: LoggedCall): boolean {
  return operation === "commitProfiles";
}

function applyCalls<Store extends CopyStore<Store>>(
  store: Store,
  calls: readonly LoggedCall[],
  applied: Applied,
): AppliedTo<Store> {
  const [first] = calls;
  const alone = (next: Store): AppliedTo<Store> => ({
    store: next,
    answer: { applied, answers: [DONE] },
  });
  switch (first?.operation) {
    case "takeover":
      return alone(store.takeOver(first.request as Takeover, applied));
    case "clear":
      return alone(store.clear(applied));
    case "part":
      store.keepPart(first.request as Part, applied);
      return alone(store);
    case "compact":
      store.note(applied);
      store.compactProfiles();
      store.beginCompaction();
      return alone(store);
    default:
      return commit(store, calls, applied);
  }
}

function commit<Store extends CopyStore<Store>>(
  store: Store,
  logged: readonly LoggedCall[],
  applied: Applied,
): AppliedTo<Store> {
  const calls = logged.flatMap(({ operation, request }, id): Call[] =>
    isWrite(operation) ? [{ id, operation: operation as OperationName, request }] : [],
  );
  if (calls.some(({ operation }) => operation === "retain")) store.finishSealing();
  const refused = new Map<number, CallAnswer>();
  const changes = new Map(
    logged.flatMap((call, id) => (isOfProfiles(call) ? [[id, call.request as ProfileCommit] as const] : [])),
  );
  if (changes.size > 0) {
    const failed = store.commitProfiles([...changes.values()], applied);
    for (const [id, change] of changes)
      if (failed.has(change)) refused.set(id, refusedWith(asRefusal(failed.get(change))));
  }
  const given = store.commitEntry(calls, applied);
  const answers = new Map(calls.map(({ id }, place) => [id, given[place]]));
  return {
    store,
    answer: { applied, answers: logged.map((_, id) => answers.get(id) ?? refused.get(id) ?? DONE) },
  };
}

/** The calls with trusted times that do not go back. */
function inTime(
  calls: readonly LoggedCall[],
  latestMs: number,
): { calls: readonly LoggedCall[]; trustedMs: number } {
  let trustedMs = latestMs;
  const timed = calls.map(({ operation, request }) => {
    const field = TRUSTED_TIME_OF[operation];
    if (field === undefined) return { operation, request };
    trustedMs = Math.max(trustedMs, Number((request as Record<string, unknown>)[field]));
    return { operation, request: { ...(request as object), [field]: trustedMs } };
  });
  return { calls: timed, trustedMs };
}

/** The field of a request that holds the trusted time. */
const TRUSTED_TIME_OF: Readonly<Record<string, string>> = {
  append: "trustedMs",
  retain: "nowMs",
  expireRejections: "nowMs",
  rest: "nowMs",
};
