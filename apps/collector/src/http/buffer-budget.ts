/** How many bytes of request bodies may be in memory at once, over all requests. */
export interface BufferBudget {
  readonly maxBytes: number;
  readonly usedBytes: number;
  /** Takes `bytes` of it; false, and nothing taken, when they are not there. */
  take(bytes: number): boolean;
  give(bytes: number): void;
}

export function bufferBudget(maxBytes: number): BufferBudget {
  let usedBytes = 0;
  return {
    maxBytes,
    get usedBytes() {
      return usedBytes;
    },
    take(bytes) {
      if (usedBytes + bytes > maxBytes) return false;
      usedBytes += bytes;
      return true;
    },
    give(bytes) {
      usedBytes -= bytes;
    },
  };
}
