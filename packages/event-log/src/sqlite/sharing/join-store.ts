import type { Clock } from "@sluice/resilience";
import { PendingCalls } from "@sluice/resilience/node";
import type { ConfigStore } from "../../ports/documents.js";
import { StorageUnavailable, StoreError } from "../../ports/errors.js";
import type { SharePort } from "../../ports/share-port.js";
import type { Store, StoreHealth } from "../../ports/store.js";
import { type ConfigWatchers, configWatchers } from "../../rules/following.js";
import type { Answer, OperationName, Operations } from "../calls/operations.js";
import type { FromHost, FromMember, SharedCall } from "../calls/share-messages.js";
import { sqliteConfigStore } from "../client/config-store.js";
import type { ConnectionEvents, StoreConnection } from "../client/connection.js";
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
  const log = new SqliteEventLog(open, () => clock.now());
  const opened = Promise.withResolvers<void>();
  const connection = new JoinedConnection(
    port,
    clock,
    {
      opened(snapshot) {
        log.opened(snapshot);
        opened.resolve();
      },
      stats: (stats) => log.committed(stats),
      named: (sources) => log.named(sources),
    },
    watchers,
  );
  connection.beforeSend((isLast) => log.send(isLast));
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

interface JoinedEvents extends Pick<ConnectionEvents, "opened" | "stats"> {
  named(sources: readonly (readonly [sourceNo: number, sourceId: string])[]): void;
}

/** The end of the thread that joined. */
class JoinedConnection implements StoreConnection {
  readonly readsAfterWrites = false;
  readonly isShared = true;
  readonly #port: SharePort;
  readonly #clock: Pick<Clock, "now">;
  readonly #events: JoinedEvents;
  readonly #watchers: ConfigWatchers;
  readonly #pending = new PendingCalls();
  readonly #beforeSend: ((isLast: boolean) => void)[] = [];
  #calls: SharedCall[] = [];
  #lastChange = 0;
  #isScheduled = false;
  #isClosed = false;

  constructor(port: SharePort, clock: Pick<Clock, "now">, events: JoinedEvents, watchers: ConfigWatchers) {
    this.#port = port;
    this.#clock = clock;
    this.#events = events;
    this.#watchers = watchers;
    port.on("message", (message) => this.#receive(message as FromHost));
    port.on("close", () => this.#end());
  }

  check(): void {
    if (this.#isClosed) throw closed();
  }

  ask<Name extends OperationName>(
    operation: Name,
    request: Operations[Name]["request"],
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<Operations[Name]["answer"]> {
    if (this.#isClosed) return Promise.reject(closed());
    const { id, result } = this.#pending.add<Operations[Name]["answer"]>();
    this.#calls.push({ id, operation, request, transfer });
    this.schedule();
    return result;
  }

  schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#send(false));
  }

  beforeSend(prepare: (isLast: boolean) => void): void {
    this.#beforeSend.push(prepare);
  }

  get lastChange(): number {
    return this.#lastChange;
  }

  health(): StoreHealth {
    return this.#isClosed
      ? { kind: "unavailable", reason: LEFT, sinceMs: this.#clock.now() }
      : { kind: "ready" };
  }

  async close(): Promise<void> {
    this.#send(true);
    this.#end();
    this.#port.close();
  }

  #end(): void {
    this.#isClosed = true;
    this.#pending.rejectAll(closed);
  }

  #send(isLast: boolean): void {
    this.#isScheduled = false;
    if (!this.#isClosed) for (const prepare of this.#beforeSend) prepare(isLast);
    const calls = this.#calls;
    if (calls.length === 0 || this.#isClosed) return;
    this.#calls = [];
    this.#post(
      { kind: "calls", calls },
      calls.flatMap(({ transfer }) => transfer),
    );
  }

  #post(message: FromMember, transfer: readonly ArrayBuffer[] = []): void {
    this.#port.postMessage(message, transfer);
  }

  #receive(message: FromHost): void {
    if (this.#isClosed) return;
    switch (message.kind) {
      case "opened":
        this.#events.opened(message.snapshot);
        return;
      case "news": {
        const { stats, sources, answers } = message.news;
        if (sources.length > 0) this.#events.named(sources);
        if (stats !== undefined) this.#events.stats(stats);
        for (const answer of answers) this.#settle(answer);
        return;
      }
      case "changed":
        this.#lastChange = message.number;
        void this.#watchers.notify([message.change]).then(() => {
          if (!this.#isClosed) this.#post({ kind: "followed", change: message.number });
        });
        return;
      default:
        message satisfies never;
    }
  }

  #settle(answer: Answer): void {
    if (answer.kind === "done") this.#pending.resolve(answer.id, answer.answer);
    else this.#pending.reject(answer.id, errorOf(answer));
  }
}

const LEFT = "this thread has left the store";

function closed(): StorageUnavailable {
  return new StorageUnavailable(LEFT);
}

function errorOf({ code, detail, current }: Extract<Answer, { kind: "refused" }>): StoreError {
  return code === "storage_unavailable"
    ? new StorageUnavailable(detail)
    : new StoreError(code, detail, { details: { ...current } });
}
