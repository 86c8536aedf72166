import type { MessagePort } from "node:worker_threads";
import type { Clock } from "@sluice/resilience";
import type { ConfigStore } from "../../ports/documents.js";
import { StorageUnavailable } from "../../ports/errors.js";
import type { SharePort, Store, StoreHealth } from "../../ports/store.js";
import { type ConfigWatchers, configWatchers } from "../../rules/following.js";
import { nextTrustedTime, readingOf, type TrustedTime, trustedMs } from "../../rules/trusted-time.js";
import type { FromWorker, LogStats, OperationName, Operations, ToWorker } from "../calls/operations.js";
import type { FromHost, FromMember, Opened } from "../calls/sharing.js";
import { CallOutbox, type TurnEnd } from "../client/call-outbox.js";
import { sqliteConfigStore } from "../client/config-store.js";
import type { StoreConnection } from "../client/connection.js";
import { sqliteConsumers } from "../client/consumers.js";
import { SqliteEventLog } from "../client/event-log.js";
import { sqliteRejectionLog } from "../client/rejection-log.js";

/** A store that another thread has. Only that thread puts documents. */
export interface JoinedStore extends Pick<Store, "consumers" | "log" | "rejections" | "health"> {
  readonly config: Pick<ConfigStore, "get" | "list" | "delete" | "watch">;
  close(): void;
}

/** Joins the store that shares this port's other end. Resolves when it can be used. Calls that are open when it closes are rejected. */
export async function joinStore(port: SharePort, clock: Clock): Promise<JoinedStore> {
  const watchers = configWatchers();
  const open = (): StoreConnection => connection;
  let time: TrustedTime = { offsetMs: 0 };
  const log = new SqliteEventLog({
    connection: open,
    clock,
    trustedNow() {
      const reading = readingOf(clock);
      time = nextTrustedTime(time, reading);
      return trustedMs(time, reading.monotonicMs);
    },
    isShared: () => true,
  });
  const opened = Promise.withResolvers<void>();
  const connection = new JoinedConnection(port, clock, watchers, {
    opened(now) {
      time = now.time;
      log.opened(now.snapshot);
      opened.resolve();
    },
    answering: (news) => log.answering(news),
  });
  connection.turn.beforeSend((isLast) => log.send(isLast));
  await opened.promise;
  const { get, list, delete: remove } = sqliteConfigStore(open);
  return {
    log,
    consumers: sqliteConsumers(open, clock),
    rejections: sqliteRejectionLog(open),
    health: () => connection.health(),
    config: { get, list, delete: remove, watch: watchers.watch },
    close: () => void connection.close(),
  };
}

interface JoinedEvents {
  opened(opened: Opened): void;
  /** Called before calls are answered. */
  answering(news: Pick<LogStats, "named">): void;
}

/**
 * The connection's states:
 *
 * - `waiting`: the store cannot be used, so calls are refused: at first, and when it fails. Left to `open` when it was opened.
 * - `open`: calls go to the store's thread, or without a port to the thread that has the store. Left to `waiting` when that port closes.
 * - `closed`: final.
 */
type State =
  | { readonly kind: "waiting"; readonly reason: string; readonly sinceMs: number }
  | { readonly kind: "open"; readonly calls: MessagePort | undefined }
  | { readonly kind: "closed" };

/** The end of the thread that joined. */
class JoinedConnection implements StoreConnection {
  readonly #port: SharePort;
  readonly #clock: Pick<Clock, "now">;
  readonly #watchers: ConfigWatchers;
  readonly #events: JoinedEvents;
  readonly #calls = new CallOutbox((calls, transfers) => {
    if (this.#state.kind !== "open") return;
    const direct = this.#state.calls;
    // Everybody follows a change of a document by the thread that has the store.
    const isPassedOn = (operation: OperationName): boolean =>
      direct === undefined || operation === "deleteDocument";
    const passedOn = calls.filter(({ operation }) => isPassedOn(operation));
    if (passedOn.length > 0)
      this.#post(
        { kind: "calls", calls: passedOn },
        passedOn.flatMap(({ transfer }) => transfer),
      );
    if (passedOn.length === calls.length) return;
    const own = calls
      .filter(({ operation }) => !isPassedOn(operation))
      .map(({ id, operation, request }) => ({ id, operation, request }));
    direct?.postMessage({ kind: "calls", calls: own } satisfies ToWorker, transfers);
  });
  #state: State;
  #lastChange = 0;

  constructor(port: SharePort, clock: Pick<Clock, "now">, watchers: ConfigWatchers, events: JoinedEvents) {
    this.#port = port;
    this.#clock = clock;
    this.#watchers = watchers;
    this.#events = events;
    this.#state = this.#waiting("the store is not open yet");
    port.on("message", (message) => this.#receive(message as FromHost));
    port.on("close", () => this.#end());
  }

  #waiting(reason: string): State {
    return { kind: "waiting", reason, sinceMs: this.#clock.now() };
  }

  health(): StoreHealth {
    const state = this.#state;
    switch (state.kind) {
      case "open":
        return { kind: "ready" };
      case "waiting":
        return { kind: "unavailable", reason: state.reason, sinceMs: state.sinceMs };
      case "closed":
        return { kind: "unavailable", reason: LEFT, sinceMs: this.#clock.now() };
      default:
        return state satisfies never;
    }
  }

  check(): void {
    const health = this.health();
    if (health.kind === "unavailable") throw new StorageUnavailable(health.reason);
  }

  async ask<Name extends OperationName>(
    operation: Name,
    request: Operations[Name]["request"],
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<Operations[Name]["answer"]> {
    this.check();
    return this.#calls.add(operation, request, transfer);
  }

  get turn(): TurnEnd {
    return this.#calls.turn;
  }

  get lastChange(): number {
    return this.#lastChange;
  }

  async close(): Promise<void> {
    if (this.#state.kind === "open") this.turn.send(true);
    this.#end();
    this.#port.close();
  }

  #end(): void {
    if (this.#state.kind === "open") this.#state.calls?.close();
    this.#state = { kind: "closed" };
    this.#calls.rejectAll(() => new StorageUnavailable(LEFT));
  }

  #post(message: FromMember, transfer: readonly ArrayBuffer[] = []): void {
    this.#port.postMessage(message, transfer);
  }

  #receive(message: FromHost): void {
    if (this.#state.kind === "closed") return;
    switch (message.kind) {
      case "opened":
        this.#opened(message);
        return;
      case "answers":
        this.#events.answering({ named: message.sources });
        for (const answer of message.answers) this.#calls.answer(answer);
        return;
      case "changed":
        this.#lastChange = message.number;
        void this.#watchers.notify([message.change]).then(() => {
          if (this.#state.kind !== "closed") this.#post({ kind: "followed", change: message.number });
        });
        return;
      default:
        message satisfies never;
    }
  }

  #opened(opened: Opened): void {
    const { calls } = opened;
    if (this.#state.kind === "open") this.#lost(this.#state.calls, "the store was opened again");
    this.#lastChange = Math.max(this.#lastChange, opened.change);
    this.#state = { kind: "open", calls };
    calls?.on("message", (message: FromWorker) => this.#answered(message));
    calls?.on("close", () => this.#lost(calls, "the store's thread has closed the store"));
    this.#events.opened(opened);
  }

  /** The answers of the store's thread. */
  #answered(message: FromWorker): void {
    switch (message.kind) {
      case "answers":
        this.#events.answering(message.stats);
        for (const answer of message.answers) this.#calls.answer(answer);
        return;
      case "failed":
        this.#state = this.#waiting(message.reason);
        this.#calls.rejectAll(() => new StorageUnavailable(message.reason));
        return;
      default:
    }
  }

  /** Nothing comes over this port any more. */
  #lost(calls: MessagePort | undefined, reason: string): void {
    calls?.close();
    if (this.#state.kind !== "open" || this.#state.calls !== calls) return;
    this.#state = this.#waiting(reason);
    this.#calls.rejectAll(() => new StorageUnavailable(reason));
  }
}

const LEFT = "this thread has left the store";
