import type { Clock } from "@sluice/resilience";
import type { ConfigChange, ConfigStore } from "../../ports/documents.js";
import { ADMISSION_KINDS } from "../../ports/documents.js";
import type { SharePort } from "../../ports/store.js";
import { followInTime } from "../../rules/following.js";
import { buffersOfAnswer } from "../calls/answer-buffers.js";
import type {
  Answer,
  AppendAnswer,
  LogStats,
  OperationName,
  Operations,
  Snapshot,
} from "../calls/operations.js";
import { refusedWith } from "../calls/refusal.js";
import type { FromHost, FromMember, SharedCall } from "../calls/share-messages.js";
import type { StoreConnection } from "./connection.js";

export interface ShareParts {
  readonly connection: Pick<StoreConnection, "ask">;
  /** Appends what the other thread has encoded. */
  readonly append: (request: Operations["append"]["request"]) => Promise<AppendAnswer>;
  readonly config: Pick<ConfigStore, "delete" | "watch">;
  readonly clock: Clock;
  /** What the store's client has copies of, as it is now. */
  readonly snapshot: () => Snapshot;
  /** The sources of the snapshot without the first `known`. */
  readonly sourcesAfter: (known: number) => Snapshot["sources"];
}

/**
 * The end of the thread that has the store: passes on the calls of a thread that joined it, and tells it what changed. A change of a
 * document waits until the other thread has followed it. After `close` no call of the other thread reaches the store.
 *
 * Appends name the last change that the other thread had followed when it admitted their messages. One that is older than a change of
 * sources, plans or suppressions is handed back, and a change waits for those that were passed on before. So also a thread that hangs,
 * or ends, stores nothing by rules that were changed before.
 */
export class StoreShare {
  readonly #port: SharePort;
  readonly #parts: ShareParts;
  readonly #stopWatching: () => void;
  readonly #closing = new AbortController();
  /** Changes that the other thread has not followed yet. */
  readonly #following = new Map<number, () => void>();
  #lastChange = 0;
  /** The last change that decides what is admitted. */
  #lastRule = 0;
  readonly #appending = new Set<Promise<unknown>>();
  /** How many sources the other thread knows. */
  #sources = 0;
  #stats: LogStats | undefined;
  #answers: Answer[] = [];
  #isScheduled = false;

  constructor(port: SharePort, parts: ShareParts) {
    this.#port = port;
    this.#parts = parts;
    this.#stopWatching = parts.config.watch(async (change) => {
      const appended = Promise.allSettled(this.#appending);
      await followInTime(this.#follow(change), parts.clock, this.#closing.signal);
      await appended;
    });
    port.on("message", (message) => this.#receive(message as FromMember));
    this.opened();
  }

  /** The store was opened again. */
  opened(): void {
    const snapshot = this.#parts.snapshot();
    this.#sources = snapshot.sources.length;
    this.#post({ kind: "opened", snapshot });
  }

  /** Call it before the calls of a commit are answered. */
  stats(stats: LogStats): void {
    this.#stats = stats;
    this.#schedule();
  }

  close(): void {
    this.#closing.abort();
    this.#port.close();
    void Promise.allSettled(this.#appending).then(this.#stopWatching);
  }

  #post(message: FromHost, transfer: readonly ArrayBuffer[] = []): void {
    if (!this.#closing.signal.aborted) this.#port.postMessage(message, transfer);
  }

  #receive(message: FromMember): void {
    if (this.#closing.signal.aborted) return;
    if (message.kind === "followed") {
      this.#following.get(message.change)?.();
      this.#following.delete(message.change);
    } else for (const call of message.calls) this.#call(call);
  }

  #call({ id, operation, request, transfer }: SharedCall): void {
    this.#ask(operation, request, transfer).then(
      (answer) => this.#answer({ id, kind: "done", answer }),
      (error: unknown) => this.#answer({ id, ...refusedWith(error) }),
    );
  }

  #ask(operation: OperationName, request: unknown, transfer: readonly ArrayBuffer[]): Promise<unknown> {
    switch (operation) {
      case "append":
        return this.#append(request as Operations["append"]["request"]);
      // A change of a document goes through the store, so that everybody follows it.
      case "deleteDocument": {
        const { kind, id } = request as Operations["deleteDocument"]["request"];
        return this.#parts.config.delete(kind, id);
      }
      default:
        return this.#parts.connection.ask(operation, request as never, transfer);
    }
  }

  async #append(request: Operations["append"]["request"]): Promise<AppendAnswer> {
    if (request.change < this.#lastRule) return { isHandedBack: true };
    const appending = this.#parts.append(request);
    this.#appending.add(appending);
    try {
      return await appending;
    } finally {
      this.#appending.delete(appending);
    }
  }

  #answer(answer: Answer): void {
    this.#answers.push(answer);
    this.#schedule();
  }

  /** The answers of a commit are settled together, so what is sent at the end of their turn has all of them. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() => queueMicrotask(() => this.#send()));
  }

  #send(): void {
    this.#isScheduled = false;
    const sources = this.#parts.sourcesAfter(this.#sources);
    this.#sources += sources.length;
    const answers = this.#answers;
    const stats = this.#stats;
    this.#answers = [];
    this.#stats = undefined;
    this.#post({ kind: "news", news: { stats, sources, answers } }, answers.flatMap(buffersOfAnswer));
  }

  #follow(change: ConfigChange): Promise<void> {
    this.#lastChange += 1;
    const number = this.#lastChange;
    if (ADMISSION_KINDS.has(change.kind)) this.#lastRule = number;
    if (this.#closing.signal.aborted) return Promise.resolve();
    return new Promise((followed) => {
      this.#following.set(number, followed);
      this.#post({ kind: "changed", number, change });
    });
  }
}
