/** Remembers which messages were handled. Delivery is at least once, so a message may arrive twice. */
export interface MessageDedupe {
  has(messageId: string): boolean | Promise<boolean>;
  /** Called after the message was handled, so that a failed message is handled again when it arrives again. */
  add(messageId: string): void | Promise<void>;
}

export interface MemoryDedupeOptions {
  /** The most ids remembered. The oldest is forgotten first. Default: 10_000. */
  readonly maxIds?: number | undefined;
}

/**
 * Remembers ids in this process. If your receiver runs in several processes, implement `MessageDedupe` over a store that they share, ideally
 * in the transaction that stores what the message changed.
 */
export function memoryDedupe({ maxIds = 10_000 }: MemoryDedupeOptions = {}): MessageDedupe {
  if (!Number.isInteger(maxIds) || maxIds < 1) {
    throw new RangeError(`Option \`maxIds\` must be an integer >= 1, got ${maxIds}`);
  }
  // A Set keeps the order in which ids were added.
  const ids = new Set<string>();
  return {
    has: (messageId) => ids.has(messageId),
    add: (messageId) => {
      ids.delete(messageId);
      ids.add(messageId);
      for (const oldest of ids) {
        if (ids.size <= maxIds) break;
        ids.delete(oldest);
      }
    },
  };
}
