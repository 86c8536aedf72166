/** The store of the collectors that tests open: three collectors on an engine in memory, or on three NATS servers. */
export type TestStore = "embedded" | "replicated" | "jetstream";

const STORES: readonly string[] = ["embedded", "replicated", "jetstream"] satisfies TestStore[];

/** What `SLUICE_TEST_STORE` asks for. */
export function testStore(): TestStore {
  const asked = process.env.SLUICE_TEST_STORE ?? "embedded";
  if (!STORES.includes(asked))
    throw new Error(`SLUICE_TEST_STORE must be one of ${STORES.join(", ")}, got ${asked}`);
  return asked as TestStore;
}

/** For tests that damage the file of the store: in a cluster, a damaged copy is replaced by itself. */
export const isOnCluster: boolean = testStore() !== "embedded";
