import type { Transferable } from "node:worker_threads";
import type { Clock } from "@sluice/resilience";
import type { ConfigChange, ConfigStore } from "../../ports/documents.js";
import { ADMISSION_KINDS } from "../../ports/documents.js";
import type { SharePort } from "../../ports/store.js";
import { followInTime } from "../../rules/following.js";
import type { TrustedTime } from "../../rules/trusted-time.js";
import type { Answer, OperationName, Operations, Snapshot, SourceName } from "../calls/operations.js";
import { refusedWith } from "../calls/refusal.js";
import type { FromHost, FromMember, SharedCall } from "../calls/sharing.js";
import { buffersOfAnswer } from "../calls/sharing.js";
import type { Joining, StoreConnection } from "./connection.js";

export interface ShareParts {
  readonly connection: Pick<StoreConnection, "ask" | "join">;
  readonly config: Pick<ConfigStore, "delete" | "watch">;
  readonly clock: Clock;
  /** What the store's client has copies of, as it is now. */
  readonly snapshot: () => Snapshot;
  /** The sources of the snapshot without the first `known`. */
  readonly sourcesAfter: (known: number) => readonly SourceName[];
  readonly time: () => TrustedTime;
}

/**
 * The threads that use the store of this one. They call the store's thread over ports of their own, and this thread tells them what changed.
 * A change of a document waits until all have followed it.
 *
 * Changes are numbered. Appends name the last one that their thread had followed when it admitted their messages, and the store hands back
 * those that are older than a change of sources, plans or suppressions. It does so before such a change is answered. So also a thread that
 * hangs, or ends, stores nothing by rules that were changed before.
 */
export class StoreShares {
  readonly #parts: ShareParts;
  readonly #shares = new Set<StoreShare>();
  #lastChange = 0;
  /** The last change that decides what is admitted. */
  #lastRule = 0;

  constructor(parts: ShareParts) {
    this.#parts = parts;
    parts.config.watch((change) => this.#follow(change));
  }

  get isAny(): boolean {
    return this.#shares.size > 0;
  }

  /** Returns what ends it. */
  add(port: SharePort): () => void {
    const share = new StoreShare(port, this.#parts);
    this.#shares.add(share);
    this.#open(share);
    return () => {
      this.#shares.delete(share);
      share.close();
    };
  }

  /** The store was opened again. */
  opened(): void {
    for (const share of this.#shares) this.#open(share);
  }

  #open(share: StoreShare): void {
    share.open({ change: this.#lastChange, fence: this.#lastRule });
  }

  async #follow(change: ConfigChange): Promise<void> {
    this.#lastChange += 1;
    const number = this.#lastChange;
    const isRule = ADMISSION_KINDS.has(change.kind);
    if (isRule) this.#lastRule = number;
    if (!this.isAny) return;
    const followed = [...this.#shares].map((share) => share.follow(number, change));
    // A store that cannot answer stores nothing. When it is opened again, the threads join it anew, with this number.
    const fenced = isRule && this.#parts.connection.ask("fence", { change: number }).catch(() => {});
    await Promise.all([...followed, fenced]);
  }
}

/** The end of the thread that has the store. After `close` no call of the other thread reaches the store. */
class StoreShare {
  readonly #port: SharePort;
  readonly #parts: ShareParts;
  readonly #closing = new AbortController();
  /** Changes that the other thread has not followed yet. */
  readonly #following = new Map<number, () => void>();
  #joining: Joining | undefined;
  /** How many sources the other thread knows. */
  #sources = 0;
  #answers: Answer[] = [];
  #isScheduled = false;

  constructor(port: SharePort, parts: ShareParts) {
    this.#port = port;
    this.#parts = parts;
    port.on("message", (message) => this.#receive(message as FromMember));
  }

  /** Gives the other thread what it begins with, now or when the store is ready. `fence`: the last change that decides what is admitted. */
  open({ change, fence }: { readonly change: number; readonly fence: number }): void {
    const { connection, time } = this.#parts;
    const snapshot = this.#parts.snapshot();
    this.#sources = snapshot.sources.length;
    this.#joining?.end();
    this.#joining = connection.join?.({ sources: this.#sources, fence });
    if (connection.join !== undefined && this.#joining === undefined) return;
    const calls = this.#joining?.port;
    this.#post(
      { kind: "opened", snapshot, change, time: time(), ...(calls && { calls }) },
      calls === undefined ? [] : [calls],
    );
  }

  close(): void {
    this.#closing.abort();
    this.#joining?.end();
    this.#port.close();
  }

  #post(message: FromHost, transfer: readonly Transferable[] = []): void {
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

  /** A change of a document goes through the store's client, so that everybody follows it. */
  #ask(operation: OperationName, request: unknown, transfer: readonly ArrayBuffer[]): Promise<unknown> {
    if (operation !== "deleteDocument")
      return this.#parts.connection.ask(operation, request as never, transfer);
    const { kind, id } = request as Operations["deleteDocument"]["request"];
    return this.#parts.config.delete(kind, id);
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
    this.#answers = [];
    this.#post({ kind: "answers", answers, sources }, answers.flatMap(buffersOfAnswer));
  }

  /** Resolves when the other thread has followed the change, or after a time. */
  follow(number: number, change: ConfigChange): Promise<void> {
    const following = new Promise<void>((followed) => {
      this.#following.set(number, followed);
      this.#post({ kind: "changed", number, change });
    });
    return followInTime(following, this.#parts.clock, this.#closing.signal);
  }
}
