import { KB, LIMITS } from "@sluice/protocol";

/** How many bytes of request bodies may be in memory at once, and who may have how many of them. */
export interface BufferBudget {
  readonly maxBytes: number;
  readonly usedBytes: number;
  /** Begins what one request of a client address holds: nothing yet, and of a sender who has not shown a key. */
  hold(address: string): BufferHold;
}

/** What one request holds of the room for bodies. */
export interface BufferHold {
  /** Takes `bytes` more; false, and nothing taken, when they are not there for this client. */
  take(bytes: number): boolean;
  /** The request has shown a good key or token: it is no longer counted to the part of those without. */
  vouch(): void;
  readonly isVouchedFor: boolean;
  /** Gives everything back. */
  release(): void;
}

/** This part of the room is for requests that have not shown a good key. */
const KEYLESS_SHARE = 1 / 8;
/** What the largest request takes: compressed, unpacked, and itself. One request must always fit where nothing else is held. */
const LARGEST_REQUEST_BYTES = 2 * LIMITS.batchBytes + 16 * KB;

/**
 * A pool in which one address may hold as much as is free for all others, so that no address fills it: one alone gets half, and what is
 * left is always there for the next. The first request of an address needs only that there is room.
 */
class Pool {
  readonly #maxBytes: number;
  readonly #byAddress = new Map<string, { bytes: number; requests: number }>();
  usedBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Whether `bytes` more are there for a request that holds `held` of them already. */
  hasRoom(address: string, held: number, bytes: number): boolean {
    const freeBytes = this.#maxBytes - this.usedBytes - bytes;
    if (freeBytes < 0) return false;
    const others = (this.#byAddress.get(address)?.bytes ?? 0) - held;
    return others === 0 || others + held + bytes <= freeBytes;
  }

  /** `requests`: 1 when a request begins to hold something here, -1 when it ends to. */
  add(address: string, bytes: number, requests: -1 | 0 | 1): void {
    const entry = this.#byAddress.get(address) ?? { bytes: 0, requests: 0 };
    entry.bytes += bytes;
    entry.requests += requests;
    this.usedBytes += bytes;
    if (entry.requests === 0) this.#byAddress.delete(address);
    else this.#byAddress.set(address, entry);
  }
}

export function bufferBudget(maxBytes: number): BufferBudget {
  const keylessBytes = Math.min(maxBytes, Math.max(maxBytes * KEYLESS_SHARE, LARGEST_REQUEST_BYTES));
  const all = new Pool(maxBytes);
  const keyless = new Pool(keylessBytes);
  return {
    maxBytes,
    get usedBytes() {
      return all.usedBytes;
    },
    hold(address) {
      let held = 0;
      let isVouchedFor = false;
      return {
        take(bytes) {
          if (!all.hasRoom(address, held, bytes)) return false;
          if (!isVouchedFor && !keyless.hasRoom(address, held, bytes)) return false;
          const begins = held === 0 ? 1 : 0;
          all.add(address, bytes, begins);
          if (!isVouchedFor) keyless.add(address, bytes, begins);
          held += bytes;
          return true;
        },
        vouch() {
          if (!isVouchedFor && held > 0) keyless.add(address, -held, -1);
          isVouchedFor = true;
        },
        get isVouchedFor() {
          return isVouchedFor;
        },
        release() {
          if (held === 0) return;
          all.add(address, -held, -1);
          if (!isVouchedFor) keyless.add(address, -held, -1);
          held = 0;
        },
      };
    },
  };
}
