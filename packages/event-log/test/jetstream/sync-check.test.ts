import { expect, it } from "vitest";
import { checkServers, type ServerFacts } from "../../src/jetstream/streams/sync-check.js";

const facts = (name: string, isSynced = true): ServerFacts => ({
  ...{ name, isSynced, version: "2.10.27", maxStoreBytes: undefined, storedBytes: 0 },
});
const check = (servers: readonly string[], known: readonly ServerFacts[]) => () =>
  checkServers(
    servers.map((name) => ({ name, isOnline: true })),
    known,
    { acceptUnsynced: false, failures: [] },
  );

const OPTION = "--cluster-accept-unsynced (SLUICE_CLUSTER_ACCEPT_UNSYNCED)";

// Before a cluster is made, only the server that is connected is known.
it.each([
  ["nobody is asked", check(["n2"], []), ["n2. No server is checked.", "SLUICE_CLUSTER_MONITORS", OPTION]],
  ["one is asked", check(["n2"], [facts("n1")]), ["n2. Only n1 is checked."]],
  ["one is asked twice", check(["n2"], [facts("n1"), facts("n1")]), ["n2. Only n1 is checked."]],
  ["one of three is asked", check(["n1", "n2", "n3"], [facts("n1")]), ["n2, n3. Only n1 is checked."]],
  ["two do not sync", check(["n1"], [facts("n1", false), facts("n2", false)]), ["n1, n2. Set", OPTION]],
])("says which servers are not known to be safe, and what to set: %s", (_, checking, said) => {
  for (const text of said) expect(checking).toThrow(text);
});
