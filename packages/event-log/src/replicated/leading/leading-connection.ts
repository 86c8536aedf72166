import { StorageUnavailable } from "../../ports/errors.js";
import type { StoreHealth } from "../../ports/store.js";
import type { OperationName, Operations } from "../../sqlite/calls/operations.js";
import { CALLS, isWrite } from "../../sqlite/calls/operations.js";
import { TurnEnd } from "../../sqlite/client/call-outbox.js";
import type { StoreConnection } from "../../sqlite/client/connection.js";
import type { ReplicationEngine } from "../engine.js";
import type { Writer } from "../writer/writer.js";

export interface LeadingParts {
  readonly engine: ReplicationEngine;
  readonly writer: Writer;
  /** The local copy. */
  readonly copy: Pick<StoreConnection, "ask" | "health">;
  /**
   * Called when a compaction is done in this copy. Resolves when nothing of the deleted data is left elsewhere; rejects when `ended` aborts,
   * because the next owner goes on.
   */
  compacted(ended: AbortSignal): Promise<void>;
  now(): number;
}

/** Clients read it. The engine's own reason names addresses: it is the cause, which only the log shows. */
const ENGINE_AWAY = "the servers that keep the log cannot be reached";

/** The owner's connection to its store: writes go through the log, and reads to the local copy. */
export class LeadingConnection implements StoreConnection {
  readonly #parts: LeadingParts;
  readonly turn = new TurnEnd();
  /** The compaction that runs, and the one that all calls share that were made meanwhile. */
  #compacting: Promise<void> | undefined;
  #nextCompaction: Promise<void> | undefined;
  /** What was admitted before this change of a document is handed back. */
  #fence = 0;
  readonly #over = new AbortController();
  /** Why no calls are taken any more. */
  #ended: { readonly reason: string; readonly sinceMs: number } | undefined;

  constructor(parts: LeadingParts) {
    this.#parts = parts;
  }

  health(): StoreHealth {
    if (this.#ended !== undefined) return { kind: "unavailable", ...this.#ended };
    const engine = this.#parts.engine.health();
    if (engine.kind === "disconnected")
      return { kind: "unavailable", reason: ENGINE_AWAY, sinceMs: engine.sinceMs };
    return this.#parts.copy.health();
  }

  check(): void {
    const health = this.health();
    if (health.kind === "ready") return;
    const engine = this.#parts.engine.health();
    throw new StorageUnavailable(
      health.reason,
      engine.kind === "disconnected" ? new Error(engine.reason) : undefined,
    );
  }

  async ask<Name extends OperationName>(
    operation: Name,
    request: Operations[Name]["request"],
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<Operations[Name]["answer"]> {
    this.check();
    const answer = this.#answer(operation, request, transfer);
    // `Operations` ties the answer to the name, but the compiler cannot follow that here.
    return answer as Promise<Operations[Name]["answer"]>;
  }

  #answer(operation: OperationName, request: unknown, transfer: readonly ArrayBuffer[]): Promise<unknown> {
    switch (operation) {
      case "retain":
        return this.#retain((request as Operations["retain"]["request"]).nowMs);
      case "compact":
        return this.#compact();
      case "clear":
        return this.#parts.writer.add({ operation, request }, true);
      case "append":
        return this.#append(request as Operations["append"]["request"]);
      case "fence":
        this.#fence = (request as Operations["fence"]["request"]).change;
        return this.#parts.writer.answered ?? Promise.resolve();
      default:
        return isWrite(operation) || operation === "commitProfiles"
          ? this.#parts.writer.add({ operation, request })
          : this.#read(operation, request, transfer);
    }
  }

  #append(request: Operations["append"]["request"]): Promise<unknown> {
    if ((request.change ?? this.#fence) < this.#fence) return Promise.resolve({ isHandedBack: true });
    return this.#parts.writer.add({ operation: "append", request });
  }

  /** A read sees every write that was asked for before it. */
  async #read(
    operation: OperationName,
    request: unknown,
    transfer: readonly ArrayBuffer[],
  ): Promise<unknown> {
    const { answered } = this.#parts.writer;
    if (answered !== undefined && CALLS[operation] !== "early read") await answered;
    return this.#parts.copy.ask(operation, request as never, transfer);
  }

  /** The owner chooses, because the choice depends on how its files happen to look. The log says what was chosen. */
  async #retain(nowMs: number): Promise<void> {
    const segments = await this.#parts.copy.ask("chooseDropped", { nowMs });
    await this.#parts.writer.add({ operation: "retain", request: { nowMs, segments } });
  }

  /** Each uploads a snapshot. One that runs may have begun before what its caller deleted, so callers meanwhile share the next one. */
  #compact(): Promise<void> {
    if (this.#compacting === undefined) {
      this.#compacting = this.#compactOnce().finally(() => {
        this.#compacting = undefined;
      });
      return this.#compacting;
    }
    this.#nextCompaction ??= this.#compacting
      .catch(() => {})
      .then(() => {
        this.#nextCompaction = undefined;
        return this.#compact();
      });
    return this.#nextCompaction;
  }

  async #compactOnce(): Promise<void> {
    this.check();
    await this.#parts.writer.add({ operation: "compact", request: {} }, true);
    await this.#parts.copy.ask("compact", {});
    await this.#parts.compacted(this.#over.signal);
  }

  /** Ends the use of the store. Calls that the writer has are up to the writer. */
  end(reason: string): void {
    this.#ended ??= { reason, sinceMs: this.#parts.now() };
    this.#over.abort();
    // Pending appends are rejected.
    this.turn.send(true);
  }

  async close(): Promise<void> {
    if (this.#ended === undefined) this.turn.send(true);
    this.#ended ??= { reason: "the store is closed", sinceMs: this.#parts.now() };
    this.#over.abort();
    await this.#parts.writer.close();
  }
}
