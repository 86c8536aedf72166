import type { EventLog, PendingMessage } from "@sluice/event-log";
import { AUDIENCE_SOURCE_ID } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import { outboxBatches } from "../../profiles/outbox-message.js";
import type { Engine } from "./audiences.js";

/** Pending messages that are looked for in the log at once. */
const RECOVERED_MESSAGES = 500;

/**
 * Publishes the engine's outbox: appends pending messages to the log after the commit that made them, and marks them as published. After
 * a crash between the two, `recover` appends those that the log lacks, under the same message ids.
 */
export class OutboxPublisher {
  readonly #engine: Engine;
  readonly #log: Pick<EventLog, "append" | "find">;
  readonly #clock: Clock;
  readonly #onPublished: (messages: number) => void;
  #isUncertain = true;
  /** Grows when it becomes uncertain: what was under way then says nothing about what is pending since. */
  #doubts = 0;
  #publishedMessages = 0;

  constructor(parts: {
    readonly engine: Engine;
    readonly log: Pick<EventLog, "append" | "find">;
    readonly clock: Clock;
    readonly onPublished: (messages: number) => void;
  }) {
    this.#engine = parts.engine;
    this.#log = parts.log;
    this.#clock = parts.clock;
    this.#onPublished = parts.onPublished;
  }

  /** Whether messages may be pending that are not known to be in the log: `recover` is to be called. */
  get isUncertain(): boolean {
    return this.#isUncertain;
  }

  /** Messages that were appended since the start. */
  get publishedMessages(): number {
    return this.#publishedMessages;
  }

  markUncertain(): void {
    this.#isUncertain = true;
    this.#doubts += 1;
  }

  async publish(pending: readonly PendingMessage[]): Promise<void> {
    // Older messages may be pending: `recover` appends all of them in order, these among them.
    if (!this.#isUncertain) await this.#append(pending);
  }

  /** Publishes what a crash or a failed append left pending. It asks the log first, whose own memory of ids ends with the dedupe window. */
  async recover(): Promise<void> {
    for (;;) {
      const doubts = this.#doubts;
      const pending = await this.#engine.pendingMessages(RECOVERED_MESSAGES);
      if (pending.length === 0) {
        this.#isUncertain = doubts !== this.#doubts;
        return;
      }
      const missing: PendingMessage[] = [];
      for (const one of pending) if (!(await this.#isInLog(one))) missing.push(one);
      await this.#append(missing);
      if (doubts !== this.#doubts) return;
      this.#engine.markPublished(pending.at(-1)?.seq ?? 0);
      await this.#engine.savePublished();
    }
  }

  async #isInLog({ message }: PendingMessage): Promise<boolean> {
    const { messageId } = JSON.parse(message) as { readonly messageId: string };
    const found = await this.#log.find({ messageId, sourceId: AUDIENCE_SOURCE_ID }, { limit: 1 });
    return found.items.length > 0;
  }

  async #append(pending: readonly PendingMessage[]): Promise<void> {
    const last = pending.at(-1);
    if (last === undefined) return;
    this.#isUncertain = true;
    const doubts = this.#doubts;
    await Promise.all(outboxBatches(pending, this.#clock.now()).map((batch) => this.#log.append(batch)));
    this.#publishedMessages += pending.length;
    this.#onPublished(pending.length);
    // The engine may have lost its file and number its messages from 1 again.
    if (doubts !== this.#doubts) return;
    this.#engine.markPublished(last.seq);
    this.#isUncertain = false;
  }
}
