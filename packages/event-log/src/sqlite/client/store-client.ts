import type { CancelTimer, Clock } from "@sluice/resilience";
import type { Offset, StoredMessage } from "../../message/batch.js";
import type { Page } from "../../ports/documents.js";
import type { EventLog, MessageQuery } from "../../ports/event-log.js";
import type { Purged, PurgeQuery, Purging } from "../../ports/purging.js";
import type { Store } from "../../ports/store.js";
import { writePosition } from "../../rules/page-cursor.js";
import { purgedIdentities, purgedMessages, requestedIdentities } from "../../rules/purging.js";
import {
  firstTrustedTime,
  nextTrustedTime,
  readingOf,
  type TrustedTime,
  trustedMs,
} from "../../rules/trusted-time.js";
import type { LogStats, RejectionsLeft, Snapshot } from "../calls/operations.js";
import { passedOn } from "../calls/passed-on.js";
import { sizesOf } from "../calls/sharing.js";
import { sqliteConfigStore } from "./config-store.js";
import type { ConnectionEvents, StoreConnection } from "./connection.js";
import { sqliteConsumers } from "./consumers.js";
import { SqliteEventLog } from "./event-log.js";
import { sqliteRejectionLog } from "./rejection-log.js";
import { StoreShares } from "./store-share.js";

/** Messages overwritten in one commit. */
const AT_ONCE = 100;

/** Ids searched for in refused messages in one pass. */
const IDS_AT_ONCE = 1_000;

/** The main thread's side of purging: it finds the messages, the worker overwrites them. */
function sqlitePurging(log: Pick<EventLog, "find" | "head">, connection: () => StoreConnection): Purging {
  const purgeMessages = async (query: MessageQuery, upTo: Offset, signal?: AbortSignal): Promise<Purged> => {
    const purged = { messages: 0, attempts: 0, retries: 0 };
    // Newest first and bounded by `upTo`, so that new messages do not prolong it.
    let cursor: string | undefined = writePosition(upTo + 1);
    while (cursor !== undefined) {
      signal?.throwIfAborted();
      const page: Page<StoredMessage> = await log.find(query, { limit: AT_ONCE, cursor });
      cursor = page.nextCursor;
      if (page.items.length === 0) continue;
      const { attempts, retries } = await connection().ask("purgeMessages", {
        offsets: page.items.map((item) => item.offset),
      });
      purged.messages += page.items.length;
      purged.attempts += attempts;
      purged.retries += retries;
    }
    return purged;
  };
  const purgeRejections = async (query: PurgeQuery, signal?: AbortSignal): Promise<void> => {
    const identities = purgedIdentities(query);
    const all = new Set(requestedIdentities(query));
    for (let from = 0; from < identities.length; from += IDS_AT_ONCE) {
      const some = identities.slice(from, from + IDS_AT_ONCE);
      const requested = some.filter((identity) => all.has(identity));
      // Each step shares a commit with whatever else has arrived.
      let left: RejectionsLeft | undefined = { after: 0 };
      while (left !== undefined) {
        signal?.throwIfAborted();
        left = await connection().ask("purgeRejections", { identities: some, requested, ...left });
      }
    }
  };
  return {
    async purge(query, signal) {
      const upTo = log.head();
      const purged = { messages: 0, attempts: 0, retries: 0 };
      for (const wanted of purgedMessages(query)) {
        const { messages, attempts, retries } = await purgeMessages(wanted, upTo, signal);
        purged.messages += messages;
        purged.attempts += attempts;
        purged.retries += retries;
      }
      await purgeRejections(query, signal);
      return purged;
    },
    async compact() {
      await connection().ask("compact", {});
    },
  };
}

/** How often retention runs, in milliseconds. */
const RETAIN_EVERY_MS = 10_000;

/** Damaged places reported at most. */
const MAX_REPORTED_DAMAGE = 100;

/** The main thread's side of a store: its ports over a connection, and the copies of stored data that they need. */
export class StoreClient {
  readonly #clock: Clock;
  readonly #log: SqliteEventLog;
  #connection: StoreConnection | undefined;
  #snapshot: Snapshot | undefined;
  #heldBack: LogStats["heldBack"];
  #time: TrustedTime | undefined;
  #lastTrustedMs: number | undefined;
  #shares: StoreShares | undefined;

  /** `requestBytes`: see `SqliteEventLog`. */
  constructor(clock: Clock, requestBytes?: number) {
    this.#clock = clock;
    this.#log = new SqliteEventLog({
      connection: () => this.#open,
      clock,
      trustedNow: () => this.#trustedNow(),
      isShared: () => this.#shares?.isAny ?? false,
      requestBytes,
    });
  }

  get #open(): StoreConnection {
    if (this.#connection === undefined) throw new Error("the store has no connection yet");
    return this.#connection;
  }

  readonly events: Pick<ConnectionEvents, "opened" | "stats"> = {
    opened: (snapshot: Snapshot) => {
      this.#snapshot = snapshot;
      this.#heldBack = snapshot.stats.heldBack;
      this.#lastTrustedMs = snapshot.trustedMs;
      this.#log.opened(snapshot);
      this.#shares?.opened();
    },
    stats: (now: LogStats) => {
      this.#heldBack = now.heldBack;
      this.#log.answering(now);
    },
  };

  #trustedTime(): TrustedTime {
    const reading = readingOf(this.#clock);
    this.#time =
      this.#time === undefined
        ? firstTrustedTime(reading, this.#lastTrustedMs)
        : nextTrustedTime(this.#time, reading);
    return this.#time;
  }

  #trustedNow(): number {
    return trustedMs(this.#trustedTime(), this.#clock.monotonic());
  }

  /** What is stored now, as far as it is known here. */
  #snapshotNow(): Snapshot {
    if (this.#snapshot === undefined) throw new Error("the store is not open yet");
    return { ...this.#snapshot, sources: this.#log.sourcesAfter(0) };
  }

  #stats(): ReturnType<Store["stats"]> {
    const { shared } = this.#snapshotNow();
    const heldBack = this.#heldBack;
    return { ...sizesOf(shared), ...(heldBack === undefined ? {} : { retentionHeldBack: heldBack }) };
  }

  /** The ports over a connection that is open. */
  storeOver(connection: StoreConnection): Store {
    this.#connection = connection;
    connection.turn.beforeSend((isLast) => this.#log.send(isLast));
    const stopRetaining = retainFromTimeToTime(
      () => connection,
      this.#clock,
      () => this.#trustedNow(),
    );
    const open = (): StoreConnection => connection;
    const config = sqliteConfigStore(open);
    const shares = new StoreShares({
      ...{ connection, config, clock: this.#clock },
      snapshot: () => this.#snapshotNow(),
      sourcesAfter: (known) => this.#log.sourcesAfter(known),
      time: () => this.#trustedTime(),
    });
    this.#shares = shares;
    return {
      log: this.#log,
      consumers: sqliteConsumers(open, this.#clock),
      config,
      rejections: sqliteRejectionLog(open),
      usage: passedOn("usage", (operation, args) => connection.ask(operation, args)),
      health: () => connection.health(),
      stats: () => this.#stats(),
      snapshots: passedOn("snapshots", (operation, args) => connection.ask(operation, args)),
      ...sqlitePurging(this.#log, open),
      share: (port) => {
        const end = shares.add(port);
        this.#log.watch();
        return end;
      },
      async clear() {
        await connection.ask("clear", {});
      },
      async close() {
        stopRetaining();
        await connection.close();
      },
    };
  }
}

/** Passes each damaged place on once. */
export function reportedOnce(onDamage: (what: string) => void): (what: string) => void {
  const reported = new Set<string>();
  return (what) => {
    if (reported.has(what) || reported.size >= MAX_REPORTED_DAMAGE) return;
    reported.add(what);
    onDamage(what);
  };
}

/** Runs retention and housekeeping every ten seconds. Returns a function that stops it. */
function retainFromTimeToTime(
  connection: () => StoreConnection,
  clock: Clock,
  trustedNow: () => number,
): CancelTimer {
  let cancel: CancelTimer;
  const wait = (): void => {
    cancel = clock.after(RETAIN_EVERY_MS, () => {
      wait();
      const nowMs = trustedNow();
      // Separate calls: if one meets damaged data, the others go on.
      const asked = [
        connection().ask("expireRejections", { nowMs }),
        connection().ask("rest", { nowMs, monotonicMs: clock.monotonic() }),
        connection().ask("retain", { nowMs }),
      ];
      // While the store is unavailable nothing is dropped. The next run does it.
      for (const call of asked) call.catch(() => {});
    });
  };
  wait();
  return () => cancel();
}
