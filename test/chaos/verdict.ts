import {
  type DestinationName,
  EVENTS_OF_MEMBERS,
  idOf,
  isRefusedForGood,
  type Ledger,
  partsOf,
  type Receipt,
  type Run,
  userOf,
} from "./ledger.ts";

/** A stored message, as the control API lists it. */
export interface StoredMessage {
  readonly messageId: string;
  readonly userId: string;
  readonly outcomes: readonly { readonly destination: DestinationName; readonly state: string }[];
}

/** A message that a receiver accepted more than once. */
export interface RepeatedMessage {
  readonly destination: DestinationName;
  readonly messageId: string;
}

/** An attempt, as the collector stored it. */
export interface AttemptMade {
  readonly attempt: number;
  readonly latencyMs: number;
  readonly status?: number;
  readonly error?: { readonly code: string };
}

/** What the collector says once it is calm. */
export interface Facts {
  /** The messages of the source, newest first. */
  readonly stored: readonly StoredMessage[];
  /** The messages that the audience made. */
  readonly notices: readonly StoredMessage[];
  /** Of the messages that were repeated, by `destination messageId`. */
  readonly attempts: ReadonlyMap<string, readonly AttemptMade[]>;
  /** Deliveries that `GET /deliveries?state=failed` lists, as `destination messageId`. */
  readonly listedAsFailed: readonly string[];
  readonly counts: {
    readonly storedMessages: number;
    /** Of `GET /sources/:id/usage`. */
    readonly usageAccepted: number;
    readonly usageDelivered: number;
    /** Of this process: `sluice_ingest_messages_total{result="accepted"}`, and ended deliveries by destination and state. */
    readonly accepted: number;
    readonly ended: ReadonlyMap<string, number>;
  };
  /** Whether the collector's process has run since the world began, so that its counters cover everything. */
  readonly isFirstProcess: boolean;
  /** Whether an audience announces its members. */
  readonly hasAudience: boolean;
}

export interface Finding {
  readonly check: string;
  readonly count: number;
  /** A few of the messages. */
  readonly examples: readonly string[];
}

export interface Verdict {
  readonly findings: readonly Finding[];
  readonly tracked: number;
  readonly acknowledged: number;
  readonly lost: number;
  /** Messages that a receiver accepted more than once. */
  readonly repeated: number;
  /** The most often a message was accepted beyond the first time, and without its answer being uncertain. */
  readonly mostRepeats: number;
  /** The longest time from a delivery to the kill after which it was repeated. */
  readonly oldestRepeatMs: number;
}

/** How long an attempt may take: the default of the webhooks. */
const ATTEMPT_TIMEOUT_MS = 5_000;

const WEBHOOKS: readonly DestinationName[] = ["plain", "ordered"];

export function repeatedMessages({ receipts }: Ledger): RepeatedMessage[] {
  return [...acceptedReceipts(receipts).values()].flatMap(([first, second]) =>
    first === undefined || second === undefined ? [] : [first],
  );
}

/** Compares what everybody said. Nothing found: every promise held. */
export function judge(ledger: Ledger, facts: Facts): Verdict {
  const accepted = acceptedReceipts(ledger.receipts);
  const repeats = repeatsOf(accepted, ledger, facts.attempts);
  const lost = lostMessages(ledger, facts, accepted);
  const checks: readonly (readonly [check: string, failures: readonly string[]])[] = [
    ["acknowledged, but neither delivered nor listed as failed", lost],
    ["stored twice", duplicatesAmong(facts.stored.map(({ messageId }) => messageId))],
    ["not exactly one final outcome at each destination", withoutOneOutcome(facts.stored)],
    ["the outcome is not what the receiver answered", contradictedOutcomes(facts.stored, accepted)],
    ["failed, but not listed as failed (or the reverse)", differencesOfLists(facts)],
    ["received, but never sent", invented(ledger)],
    ["repeated more often than kills, timeouts and lost answers explain", repeats.unexplained],
    ["out of order for its user", outOfOrder(ledger, accepted)],
    ["neither stored nor reported as lost by the SDK", silentlyLost(ledger, facts)],
    ["the SDK had it on disk, but it never arrived", lostFromDisk(ledger, facts)],
    ["an audience's notice is missing or too many", facts.hasAudience ? wrongNotices(facts, accepted) : []],
    ["counters do not add up", wrongCounts(facts)],
    ["a request differs from what was sent", ledger.differences],
  ];
  return {
    findings: checks
      .filter(([, failures]) => failures.length > 0)
      .map(([check, failures]) => ({ check, count: failures.length, examples: failures.slice(0, 5) })),
    tracked: ledger.tracked,
    acknowledged: ledger.acknowledged.size,
    lost: lost.length,
    repeated: repeats.repeated,
    mostRepeats: repeats.most,
    oldestRepeatMs: repeats.oldestMs,
  };
}

/** Accepted requests by destination and message, in the order of their receipt. */
type Accepted = ReadonlyMap<string, readonly Receipt[]>;
const keyOf = (destination: DestinationName, messageId: string): string => `${destination} ${messageId}`;

function acceptedReceipts(receipts: readonly Receipt[]): Accepted {
  const accepted = new Map<string, Receipt[]>();
  for (const receipt of receipts) {
    if (receipt.status !== 200) continue;
    const key = keyOf(receipt.destination, receipt.messageId);
    const before = accepted.get(key);
    if (before === undefined) accepted.set(key, [receipt]);
    else before.push(receipt);
  }
  return accepted;
}

function lostMessages(ledger: Ledger, { stored, listedAsFailed }: Facts, accepted: Accepted): string[] {
  const storedIds = new Set(stored.map(({ messageId }) => messageId));
  const failed = new Set(listedAsFailed);
  return [...ledger.acknowledged].filter(
    (id) =>
      !storedIds.has(id) ||
      WEBHOOKS.some((destination) => {
        const key = keyOf(destination, id);
        return !accepted.has(key) && !failed.has(key);
      }),
  );
}

function duplicatesAmong(ids: readonly string[]): string[] {
  const seen = new Set<string>();
  return ids.filter((id) => seen.has(id) || !seen.add(id));
}

function withoutOneOutcome(stored: readonly StoredMessage[]): string[] {
  return stored.flatMap(({ messageId, outcomes }) =>
    WEBHOOKS.flatMap((destination) => {
      const states = outcomes.filter((outcome) => outcome.destination === destination);
      const isOne = states.length === 1 && /^(delivered|failed)$/.test(states[0]?.state ?? "");
      return isOne
        ? []
        : [`${messageId} ${destination}: ${states.map(({ state }) => state).join() || "none"}`];
    }),
  );
}

/** Delivered means that the receiver accepted it; failed, that it is one of those that the receiver refuses. */
function contradictedOutcomes(stored: readonly StoredMessage[], accepted: Accepted): string[] {
  return stored.flatMap(({ messageId, outcomes }) =>
    outcomes.flatMap(({ destination, state }) => {
      const isAccepted = accepted.has(keyOf(destination, messageId));
      const isRight = state === "delivered" ? isAccepted : isRefusedForGood(partsOf(messageId).n);
      return isRight || state === "pending" ? [] : [`${messageId} ${destination}: ${state}`];
    }),
  );
}

function differencesOfLists({ stored, notices, listedAsFailed }: Facts): string[] {
  const failed = new Set(
    [...stored, ...notices].flatMap(({ messageId, outcomes }) =>
      outcomes.flatMap(({ destination, state }) =>
        state === "failed" ? [keyOf(destination, messageId)] : [],
      ),
    ),
  );
  const listed = new Set(listedAsFailed);
  return [
    ...duplicatesAmong(listedAsFailed),
    ...[...failed].filter((key) => !listed.has(key)),
    ...[...listed].filter((key) => !failed.has(key)),
  ];
}

function invented({ receipts, runs }: Ledger): string[] {
  return receipts.flatMap(({ destination, messageId }) => {
    if (destination === "notices") return [];
    const { run, n } = partsOf(messageId);
    return n < (runs.get(run)?.tracked ?? 0) ? [] : [keyOf(destination, messageId)];
  });
}

interface Repeats {
  readonly repeated: number;
  readonly most: number;
  readonly oldestMs: number;
  readonly unexplained: readonly string[];
}

/**
 * At least once, and no more than needed: a message may be accepted again only if the collector may not have seen the answer, if its
 * time was over, or if the collector was killed before it had stored the outcome. Each of these explains one repetition.
 */
function repeatsOf(accepted: Accepted, { interruptions }: Ledger, attempts: Facts["attempts"]): Repeats {
  const result = { repeated: 0, most: 0, oldestMs: 0, unexplained: [] as string[] };
  for (const [key, receipts] of accepted) {
    const [first, ...others] = receipts;
    if (first === undefined || others.length === 0) continue;
    result.repeated += 1;
    const made = attempts.get(key) ?? [];
    const after = interruptions.filter(({ overMs }) => overMs >= first.atMs);
    const repeats = others.length - explainedReceipts(receipts, made);
    result.most = Math.max(result.most, repeats);
    if (repeats > after.length)
      result.unexplained.push(`${key}: ${receiptsText(receipts)}; ${made.map(textOf).join(", ")}`);
    const [kill] = after;
    if (repeats > 0 && kill !== undefined)
      result.oldestMs = Math.max(result.oldestMs, Math.round(kill.atMs - first.atMs));
  }
  return result;
}

/**
 * How many of the receipts but that of the last attempt explain why the message came again: the answer may be lost, or the collector ended
 * the attempt as a timeout. Its request may be received after that of the next attempt. Within one attempt, a message can come twice: if an idle connection turns out to be broken, it is sent on another one.
 */
function explainedReceipts(receipts: readonly Receipt[], made: readonly AttemptMade[]): number {
  const timeouts = made.filter(hadItsTime).map(({ attempt }) => attempt);
  const inOrder = [...receipts].sort((a, b) => a.attempt - b.attempt);
  return inOrder.slice(0, -1).filter(({ isUncertain, attempt }) => {
    if (isUncertain) return true;
    const place = timeouts.indexOf(attempt);
    if (place >= 0) timeouts.splice(place, 1);
    return place >= 0;
  }).length;
}

/** The collector ended it without an answer, after the whole time that an attempt may take. */
const hadItsTime = ({ error, latencyMs }: AttemptMade): boolean =>
  error?.code === "timeout" && latencyMs >= ATTEMPT_TIMEOUT_MS;

/** By attempt: `2 receipts (attempts 1 lost, 2)`. */
const receiptsText = (receipts: readonly Receipt[]): string => {
  const each = receipts.map(({ attempt, isUncertain }) => (isUncertain ? `${attempt} lost` : `${attempt}`));
  return `${receipts.length} receipts (attempts ${each.join(", ")})`;
};

const textOf = ({ attempt, status, error, latencyMs }: AttemptMade): string =>
  `attempt ${attempt}: ${status ?? error?.code} after ${Math.round(latencyMs)} ms`;

/** The first receipts of a user's messages ascend. */
function outOfOrder({ runs }: Ledger, accepted: Accepted): string[] {
  const highest = new Map<string, number>();
  const wrong: string[] = [];
  for (const [first] of [...accepted.values()]) {
    if (first?.destination !== "ordered") continue;
    const { run, n } = partsOf(first.messageId);
    const of = runs.get(run);
    if (of === undefined) continue;
    const user = userOf(of, n);
    if (n < (highest.get(user) ?? -1)) wrong.push(first.messageId);
    highest.set(user, Math.max(n, highest.get(user) ?? -1));
  }
  return wrong;
}

const numbersBelow = (limit: number): number[] => Array.from({ length: limit }, (_, n) => n);

/** Of an SDK that could close: what was tracked arrived or was reported. */
function silentlyLost({ runs, reportedLost }: Ledger, { stored }: Facts): string[] {
  const arrived = new Set(stored.map(({ messageId }) => messageId));
  return [...runs.values()]
    .filter(({ state }) => state === "closed")
    .flatMap(({ name, tracked }) => numbersBelow(tracked).map((n) => idOf(name, n)))
    .filter((id) => !arrived.has(id) && !reportedLost.has(id));
}

function lostFromDisk({ runs, reportedLost }: Ledger, { stored }: Facts): string[] {
  const arrived = new Set(stored.map(({ messageId }) => messageId));
  return [...runs.values()]
    .flatMap(({ name, keptBelow }: Run) => numbersBelow(keptBelow).map((n) => idOf(name, n)))
    .filter((id) => !arrived.has(id) && !reportedLost.has(id));
}

/** Each user with enough stored events entered the audience, and was announced once. */
function wrongNotices({ stored, notices }: Facts, accepted: Accepted): string[] {
  const events = new Map<string, number>();
  for (const { userId } of stored) events.set(userId, (events.get(userId) ?? 0) + 1);
  const announced = new Map<string, StoredMessage[]>();
  for (const notice of notices)
    announced.set(notice.userId, [...(announced.get(notice.userId) ?? []), notice]);
  const wrong: string[] = [];
  for (const [userId, count] of events) {
    const ofUser = announced.get(userId) ?? [];
    const expected = count >= EVENTS_OF_MEMBERS ? 1 : 0;
    if (ofUser.length !== expected) wrong.push(`${userId}: ${count} events, ${ofUser.length} notices`);
    for (const { messageId, outcomes } of ofUser) {
      const states = outcomes.map(({ state }) => state).join(", ");
      if (!accepted.has(keyOf("notices", messageId))) wrong.push(`${userId}: not delivered, but ${states}`);
    }
  }
  return wrong;
}

function wrongCounts({ stored, notices, counts, isFirstProcess }: Facts): string[] {
  const outcomes = stored.flatMap((message) => message.outcomes);
  const delivered = outcomes.filter(({ state }) => state === "delivered").length;
  const expected: [name: string, said: number, counted: number][] = [
    ["sluice_store_messages", counts.storedMessages, stored.length + notices.length],
    ["usage.accepted", counts.usageAccepted, stored.length],
    ["usage.delivered", counts.usageDelivered, delivered],
  ];
  if (isFirstProcess) {
    expected.push(["sluice_ingest_messages_total", counts.accepted, stored.length]);
    for (const [key, said] of counts.ended) {
      const counted = [...stored, ...notices]
        .flatMap((message) => message.outcomes)
        .filter(({ destination, state }) => key === `${destination} ${state}`).length;
      expected.push([`sluice_deliveries_total ${key}`, said, counted]);
    }
  }
  return expected.flatMap(([name, said, counted]) =>
    said === counted ? [] : [`${name} is ${said}, counted ${counted}`],
  );
}
