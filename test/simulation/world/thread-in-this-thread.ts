import { EventEmitter } from "node:events";
import type { FromWorker, ToWorker } from "../../../packages/event-log/src/sqlite/calls/operations.js";
import type { WorkerOptions } from "../../../packages/event-log/src/sqlite/calls/tuning.js";
import type { StoreThread } from "../../../packages/event-log/src/sqlite/client/start-worker.js";
import { StoreServer } from "../../../packages/event-log/src/sqlite/thread/store-server.js";
import { cloned, type SimulatedPort } from "./ports.js";

/** The store's thread, without a thread: its messages arrive with the next turns of the event loop. */
export class ThreadInThisThread extends EventEmitter implements StoreThread {
  readonly #inbox: ToWorker[] = [];
  #server: StoreServer | undefined;
  readonly #onJoin: (port: SimulatedPort) => void;
  #isKilled = false;

  /** `onJoin`: another thread is about to call over a port of its own. */
  constructor(options: WorkerOptions, onJoin: (port: SimulatedPort) => void = () => {}) {
    super();
    this.#onJoin = onJoin;
    setImmediate(() => {
      this.#server = new StoreServer(
        {
          post: (message) => this.#emit(message),
          receive: () => this.#inbox.shift(),
          close: () => setImmediate(() => this.emit("exit")),
        },
        options,
      );
    });
  }

  postMessage(message: ToWorker): void {
    if (this.#isKilled) return;
    const isJoin = message.kind === "join";
    if (isJoin) this.#onJoin(message.port as unknown as SimulatedPort);
    this.#inbox.push(cloned(message, isJoin ? [message.port] : []) as ToWorker);
    setImmediate(() => {
      const first = this.#inbox.shift();
      if (first !== undefined) this.#server?.serve(first);
    });
  }

  #emit(message: FromWorker): void {
    if (this.#isKilled) return;
    const copy = structuredClone(message);
    setImmediate(() => this.emit("message", copy));
  }

  async terminate(): Promise<void> {
    this.emit("exit");
  }

  /** Its process has ended: the files are closed, and nobody is told. */
  kill(): void {
    if (this.#isKilled) return;
    this.#isKilled = true;
    this.removeAllListeners();
    this.#server?.serve({ kind: "close" });
  }
}
