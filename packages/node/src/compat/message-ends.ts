import { contained } from "@sluice/core";
import type { Analytics, Receipt } from "@sluice/node";

/** Called when a message has ended: without an error if it was delivered or withheld on purpose. */
export type OnEnd = (error?: Error) => unknown;

/** Calls back for each watched message of a client when it is delivered or lost. */
export class MessageEnds {
  readonly #client: Analytics;
  /** By message id. Several messages may have the same id. */
  readonly #waiting = new Map<string, OnEnd[]>();
  #listens = false;

  constructor(client: Analytics) {
    this.#client = client;
  }

  watch(receipt: Receipt, onEnd: OnEnd): void {
    if (receipt.accepted) {
      this.#listen();
      const others = this.#waiting.get(receipt.messageId) ?? [];
      this.#waiting.set(receipt.messageId, [...others, onEnd]);
      return;
    }
    const isWithheld = receipt.reason === "dropped" || receipt.reason === "disabled";
    const error = isWithheld ? undefined : new Error(`The message was refused: ${receipt.reason}`);
    // As for accepted messages, not within the call.
    queueMicrotask(() => contained(onEnd, error));
  }

  /** At the first use: a listener for losses replaces the client's own line about them. */
  #listen(): void {
    if (this.#listens) return;
    this.#listens = true;
    this.#client.on("delivered", ({ messageIds }) => {
      for (const messageId of messageIds) this.#end(messageId);
    });
    this.#client.on("failed", ({ message, detail }) => {
      for (const { messageId } of detail.messages) this.#end(messageId, new Error(message));
    });
    this.#client.on("refused", ({ detail }) => {
      // Other refusals are those of calls, which `watch` knows from the receipt.
      if (detail.code !== "messages_refused") return;
      for (const { messageId, reason, text } of detail.messages)
        this.#end(messageId, new Error(`${reason}: ${text}`));
    });
  }

  #end(messageId: string, error?: Error): void {
    const [onEnd, ...others] = this.#waiting.get(messageId) ?? [];
    if (others.length > 0) this.#waiting.set(messageId, others);
    else this.#waiting.delete(messageId);
    contained(onEnd, error);
  }
}
