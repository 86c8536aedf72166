import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "@sluice/resilience";
import type { Store } from "../../src/ports/store.js";
import type { ReplicationEngine } from "../../src/replicated/engine.js";
import { openReplica } from "../../src/replicated/open-replica.js";
import type { LeadingStores, Replica } from "../../src/replicated/replica.js";
import { openMemoryEngines } from "../memory-engine/open-memory-engines.js";

const TUNING = { segmentMessages: 4, checkpointBytes: 32 * 1_024 };
/** Small, so that a call's changes take several entries. */
export const MAX_ENTRY_BYTES = 2_000;

/** A cluster of its own, as its processes see it. */
export interface Engines {
  engineFor(node: string): Promise<ReplicationEngine>;
  /** Removes the cluster, after all copies are closed. */
  close(): Promise<void>;
}

export async function memoryEngines(): Promise<Engines> {
  const engines = openMemoryEngines({ maxEntryBytes: MAX_ENTRY_BYTES });
  return { engineFor: async (node) => engines.engineFor(node), close: async () => {} };
}

export interface ChangingOwners {
  /**
   * The stores of the next owner. The former one hands over in order, or does not know that it was replaced: then it tries to write, which
   * must have no effect.
   */
  next(how: "hand over" | "take over"): Promise<LeadingStores>;
  close(): Promise<void>;
}

/** Two copies of a replicated store that own it in turn. */
export async function openChangingOwners(
  directory: string,
  clock: Clock,
  engines: Engines,
): Promise<ChangingOwners> {
  const replicas: Replica[] = [];
  for (const node of ["a", "b"]) {
    mkdirSync(join(directory, node), { recursive: true });
    const engine = await engines.engineFor(node);
    replicas.push(
      await openReplica({ directory: join(directory, node), engine, clock, node, tuning: TUNING }),
    );
  }
  let term = 0;
  let leading: LeadingStores | undefined;
  return {
    async next(how) {
      const former = leading;
      if (how === "hand over") await former?.stepDown();
      term += 1;
      leading = await (replicas[term % 2] as Replica).lead(term, { onDeposed() {} });
      if (how === "take over" && former !== undefined) await expectRefused(former.store);
      return leading;
    },
    async close() {
      await leading?.stepDown();
      for (const replica of replicas) await replica.close();
      await engines.close();
    },
  };
}

/** The former owner notices that it was replaced. */
async function expectRefused(store: Store): Promise<void> {
  const written = await store.config.put("source", "of a former owner", {}).then(
    () => true,
    () => false,
  );
  if (written) throw new Error("an owner that was replaced could still write");
}
