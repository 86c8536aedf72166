/** Remembers which messages were handled: delivery is at least once, so one may come twice. */
export interface MessageDedupe {
  has(messageId: string): boolean | Promise<boolean>;
  /** Called after the message was handled, so that one that failed is handled when it comes again. */
  add(messageId: string): void | Promise<void>;
}

export interface MemoryDedupeOptions {
  /** Ids remembered; the oldest is forgotten first. Default: 10_000. */
  readonly maxIds?: number;
}

/**
 * Remembers ids in this process. A receiver of several processes keeps them where all see them, best in the transaction
 * that stores what the message changed: implement `MessageDedupe` over it.
 */
export function memoryDedupe({ maxIds = 10_000 }: MemoryDedupeOptions = {}): MessageDedupe {
  if (!Number.isInteger(maxIds) || maxIds < 1) {
    throw new RangeError(`Option \`maxIds\` must be an integer >= 1, got ${maxIds}`);
  }
  // A Set keeps the order in which ids came.
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
