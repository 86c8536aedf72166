import type { Clock } from "@sluice/resilience";
import type { ConfigStore } from "../../ports/documents.js";
import { StorageUnavailable } from "../../ports/errors.js";
import type { SharePort, Store, StoreHealth } from "../../ports/store.js";
import { type ConfigWatchers, configWatchers } from "../../rules/following.js";
import type { OperationName, Operations } from "../calls/operations.js";
import type { FromHost, FromMember } from "../calls/share-messages.js";
import { CallOutbox, type TurnEnd } from "../client/call-outbox.js";
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
  readonly #calls = new CallOutbox((calls, transfers) => {
    if (!this.#isClosed) this.#post({ kind: "calls", calls }, transfers);
  });
  #lastChange = 0;
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
    return this.#calls.add(operation, request, transfer);
  }

  get turn(): TurnEnd {
    return this.#calls.turn;
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
    if (!this.#isClosed) this.turn.send(true);
    this.#end();
    this.#port.close();
  }

  #end(): void {
    this.#isClosed = true;
    this.#calls.rejectAll(closed);
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
        for (const answer of answers) this.#calls.answer(answer);
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
}

const LEFT = "this thread has left the store";

function closed(): StorageUnavailable {
  return new StorageUnavailable(LEFT);
}
