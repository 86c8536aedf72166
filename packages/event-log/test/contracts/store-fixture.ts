import { type ManualClock, manualClock } from "@sluice/resilience/testing";
import { afterEach } from "vitest";
import type { Store } from "../../src/ports/store.js";
import { RECEIVED_AT_MS } from "../batches.js";

export interface ContractOptions {
  readonly dedupeWindowMs?: number;
  readonly rejectionsKept?: number;
}

/** Makes a new, empty store of the implementation under test. */
export type OpenStore = (clock: ManualClock, options: ContractOptions) => Promise<Store>;

export interface StoreFixture {
  readonly store: Store;
  readonly clock: ManualClock;
}

/** Opens stores for the tests of one contract and closes them after each. */
export function storeFixture(open: OpenStore): (options?: ContractOptions) => Promise<StoreFixture> {
  const opened: Store[] = [];
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((store) => store.close()));
  });
  return async (options = {}) => {
    const clock = manualClock({ startMs: RECEIVED_AT_MS });
    const store = await open(clock, options);
    opened.push(store);
    return { store, clock };
  };
}
