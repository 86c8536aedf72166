import { KB, LIMITS } from "@sluice/protocol";

/** Limits the memory that request bodies take at once, and shares it out among clients. */
export interface BufferBudget {
  readonly maxBytes: number;
  readonly usedBytes: number;
  /** Starts the account of one request: it holds nothing yet, and has not shown a valid key. */
  hold(address: string): BufferHold;
}

/** The share of one request. */
export interface BufferHold {
  /** Takes `bytes` more. Returns false, and takes nothing, if this client may not have them. */
  take(bytes: number): boolean;
  /** The request has shown a valid key or token, and no longer counts to the part for those without. */
  vouch(): void;
  readonly isVouchedFor: boolean;
  /** Returns everything. */
  release(): void;
}

/** The part of the memory for requests without a valid key. */
const KEYLESS_SHARE = 1 / 8;
/** The largest request: its body compressed and decompressed, and its objects. One such request must fit while nothing else is held. */
const LARGEST_REQUEST_BYTES = 2 * LIMITS.batchBytes + 16 * KB;

/**
 * In this pool an address may hold as much as is still free, so that none can fill it: a single address gets half, and the next one
 * still finds room. The first request of an address only needs that there is room.
 */
class Pool {
  readonly #maxBytes: number;
  readonly #byAddress = new Map<string, { bytes: number; requests: number }>();
  usedBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Whether a request that holds `held` bytes may have `bytes` more. */
  hasRoom(address: string, held: number, bytes: number): boolean {
    const freeBytes = this.#maxBytes - this.usedBytes - bytes;
    if (freeBytes < 0) return false;
    const others = (this.#byAddress.get(address)?.bytes ?? 0) - held;
    return others === 0 || others + held + bytes <= freeBytes;
  }

  /** `requests`: 1 when a request takes its first bytes, -1 when it returns its last. */
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
