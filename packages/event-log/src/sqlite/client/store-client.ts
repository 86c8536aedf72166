import type { CancelTimer, Clock } from "@sluice/resilience";
import type { Store } from "../../ports/store.js";
import type { LogStats, Snapshot } from "../calls/operations.js";
import { passedOn } from "../calls/passed-on.js";
import { sqliteConfigStore } from "./config-store.js";
import type { ConnectionEvents, StoreConnection } from "./connection.js";
import { sqliteConsumers } from "./consumers.js";
import { SqliteEventLog } from "./event-log.js";
import { sqlitePurging } from "./purging.js";
import { sqliteRejectionLog } from "./rejection-log.js";
import { StoreShare } from "./store-share.js";
import { firstTrustedTime, nextTrustedTime, type TrustedTime, trustedMs } from "./trusted-time.js";

/** How often retention runs, in milliseconds. */
const RETAIN_EVERY_MS = 10_000;

/** Damaged places reported at most. */
const MAX_REPORTED_DAMAGE = 100;

/** The main thread's side of a store: its ports over a connection, and the copies of stored data that they need. */
export class StoreClient {
  readonly #clock: Clock;
  readonly #log: SqliteEventLog;
  #connection: StoreConnection | undefined;
  #stats: LogStats = { head: -1, messages: 0, bytes: 0 };
  #time: TrustedTime | undefined;
  #lastTrustedMs: number | undefined;
  /** The threads that use it too. */
  readonly #shares = new Set<StoreShare>();

  /** `requestBytes`: see `SqliteEventLog`. */
  constructor(clock: Clock, requestBytes?: number) {
    this.#clock = clock;
    this.#log = new SqliteEventLog(
      () => this.#open,
      () => this.#trustedNow(),
      requestBytes,
    );
  }

  get #open(): StoreConnection {
    if (this.#connection === undefined) throw new Error("the store has no connection yet");
    return this.#connection;
  }

  readonly events: Pick<ConnectionEvents, "opened" | "stats"> = {
    opened: (snapshot: Snapshot) => {
      this.#stats = snapshot.stats;
      this.#lastTrustedMs = snapshot.trustedMs;
      this.#log.opened(snapshot);
      for (const share of this.#shares) share.opened();
    },
    stats: (now: LogStats) => {
      this.#stats = now;
      for (const share of this.#shares) share.stats(now);
      this.#log.committed(now);
    },
  };

  #trustedNow(): number {
    const reading = { wallMs: this.#clock.now(), monotonicMs: this.#clock.monotonic() };
    this.#time =
      this.#time === undefined
        ? firstTrustedTime(reading, this.#lastTrustedMs)
        : nextTrustedTime(this.#time, reading);
    return trustedMs(this.#time, reading.monotonicMs);
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
    const stats = (): LogStats => this.#stats;
    const config = sqliteConfigStore(open);
    const sourcesAfter = (known: number): Snapshot["sources"] => this.#log.sourcesAfter(known);
    const snapshot = (): Snapshot => ({ seed: this.#log.seed, sources: sourcesAfter(0), stats: stats() });
    return {
      log: this.#log,
      consumers: sqliteConsumers(open, this.#clock),
      config,
      rejections: sqliteRejectionLog(open),
      usage: passedOn("usage", (operation, args) => connection.ask(operation, args)),
      health: () => connection.health(),
      stats: () => storeStats(stats()),
      snapshots: passedOn("snapshots", (operation, args) => connection.ask(operation, args)),
      ...sqlitePurging(this.#log, open),
      share: (port) => {
        const share = new StoreShare(port, {
          connection,
          append: (request) => this.#log.appendEncoded(request),
          config,
          clock: this.#clock,
          snapshot,
          sourcesAfter,
        });
        this.#shares.add(share);
        return () => {
          this.#shares.delete(share);
          share.close();
        };
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

function storeStats({ messages, bytes, heldBack }: LogStats): ReturnType<Store["stats"]> {
  return { messages, bytes, ...(heldBack === undefined ? {} : { retentionHeldBack: heldBack }) };
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
