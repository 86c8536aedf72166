import { KB, LIMITS } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import { type AmountsByAddress, amountsByAddress } from "./amounts-by-address.js";

/** Limits the memory that request bodies take at once, and shares it out among clients. */
export interface BufferBudget {
  readonly maxBytes: number;
  readonly usedBytes: number;
  /**
   * Starts the account of one request: it holds nothing yet, and has not shown a valid key. `giveWay` is called if the request has to end
   * because its body arrives too slowly while others find no room; its share is returned already.
   */
  hold(address: string, giveWay?: () => void): BufferHold;
}

/** The share of one request. */
export interface BufferHold {
  /** Takes `bytes` more. Returns false, and takes nothing, if this client may not have them. */
  take(bytes: number): boolean;
  /** The whole body is here: from now on the request gives way to none. */
  arrived(): void;
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
/** A body that has been arriving for this long gives way to the first request of an address that finds no room. */
const GIVES_WAY_AFTER_MS = 1_000;

/** A request whose body is still arriving. */
interface Arriving {
  readonly sinceMs: number;
  readonly giveWay: () => void;
}

/**
 * In this pool an address may hold as much as is still free, so that none can fill it: a single address gets half, and the next one
 * still finds room. The first request of an address only needs that there is room. Many addresses can fill it with bodies that never
 * end, so for such a request the slowest bodies of its thread give way: with several threads, the system deals connections out evenly.
 */
class Pool {
  readonly #maxBytes: number;
  readonly #clock: Clock;
  readonly #held: AmountsByAddress;
  /** The oldest first. */
  readonly #arriving = new Set<Arriving>();

  constructor(maxBytes: number, clock: Clock, held: AmountsByAddress) {
    this.#maxBytes = maxBytes;
    this.#clock = clock;
    this.#held = held;
  }

  get usedBytes(): number {
    return this.#held.total;
  }

  /** Whether a request that holds `held` bytes may have `bytes` more. `self` gives way to itself never. */
  hasRoom(address: string, held: number, bytes: number, self: Arriving): boolean {
    const others = this.#held.of(address) - held;
    if (others > 0) return others + held + bytes <= this.#freeAfter(bytes);
    if (this.#freeAfter(bytes) < 0) this.#makeRoom(bytes, self);
    return this.#freeAfter(bytes) >= 0;
  }

  add(address: string, bytes: number): void {
    this.#held.add(address, bytes);
  }

  arrives(arriving: Arriving): void {
    this.#arriving.add(arriving);
  }

  arrived(arriving: Arriving): void {
    this.#arriving.delete(arriving);
  }

  #freeAfter(bytes: number): number {
    return this.#maxBytes - this.usedBytes - bytes;
  }

  #makeRoom(bytes: number, self: Arriving): void {
    const untilMs = this.#clock.monotonic() - GIVES_WAY_AFTER_MS;
    for (const slowest of this.#arriving) {
      if (slowest.sinceMs > untilMs || this.#freeAfter(bytes) >= 0) return;
      if (slowest !== self) slowest.giveWay();
    }
  }
}

/** `held`: what all requests hold, and what those without a valid key do. Default: those of this thread. */
export function bufferBudget(
  maxBytes: number,
  clock: Clock,
  held: { readonly all: AmountsByAddress; readonly keyless: AmountsByAddress } = {
    all: amountsByAddress(),
    keyless: amountsByAddress(),
  },
): BufferBudget {
  const keylessBytes = Math.min(maxBytes, Math.max(maxBytes * KEYLESS_SHARE, LARGEST_REQUEST_BYTES));
  const all = new Pool(maxBytes, clock, held.all);
  const keyless = new Pool(keylessBytes, clock, held.keyless);
  return {
    maxBytes,
    get usedBytes() {
      return all.usedBytes;
    },
    hold: (address, giveWay) => new Hold(all, keyless, address, clock.monotonic(), giveWay),
  };
}

class Hold implements BufferHold, Arriving {
  readonly #all: Pool;
  readonly #keyless: Pool;
  readonly #address: string;
  readonly #onGivingWay: (() => void) | undefined;
  readonly sinceMs: number;
  #held = 0;
  #isVouchedFor = false;
  #hasArrived: boolean;
  #hasGivenWay = false;

  constructor(all: Pool, keyless: Pool, address: string, sinceMs: number, giveWay: (() => void) | undefined) {
    this.#all = all;
    this.#keyless = keyless;
    this.#address = address;
    this.sinceMs = sinceMs;
    this.#onGivingWay = giveWay;
    this.#hasArrived = giveWay === undefined;
  }

  get isVouchedFor(): boolean {
    return this.#isVouchedFor;
  }

  take(bytes: number): boolean {
    if (this.#hasGivenWay) return false;
    const address = this.#address;
    if (!this.#all.hasRoom(address, this.#held, bytes, this)) return false;
    if (!this.#isVouchedFor && !this.#keyless.hasRoom(address, this.#held, bytes, this)) return false;
    const begins = this.#held === 0;
    this.#all.add(address, bytes);
    if (!this.#isVouchedFor) this.#keyless.add(address, bytes);
    this.#held += bytes;
    if (begins && !this.#hasArrived) {
      this.#all.arrives(this);
      if (!this.#isVouchedFor) this.#keyless.arrives(this);
    }
    return true;
  }

  arrived(): void {
    this.#hasArrived = true;
    this.#all.arrived(this);
    this.#keyless.arrived(this);
  }

  vouch(): void {
    if (!this.#isVouchedFor && this.#held > 0) this.#keyless.add(this.#address, -this.#held);
    this.#keyless.arrived(this);
    this.#isVouchedFor = true;
  }

  release(): void {
    this.arrived();
    if (this.#held === 0) return;
    this.#all.add(this.#address, -this.#held);
    if (!this.#isVouchedFor) this.#keyless.add(this.#address, -this.#held);
    this.#held = 0;
  }

  giveWay(): void {
    this.#hasGivenWay = true;
    this.release();
    this.#onGivingWay?.();
  }
}
