import type { Clock } from "@sluice/resilience";
import type { ProfileStore } from "../../ports/profiles.js";
import type { AppliedEntry, LogStats } from "../../sqlite/calls/operations.js";
import { passedOn } from "../../sqlite/calls/passed-on.js";
import type { StoreConnection } from "../../sqlite/client/connection.js";
import { StoreClient } from "../../sqlite/client/store-client.js";
import type { Copy } from "../copy.js";
import type { ReplicationEngine } from "../engine.js";
import type { LeadingStores } from "../replica.js";
import { Writer } from "../writer/writer.js";
import { LeadingConnection } from "./leading-connection.js";

/** The owner's profiles: commits go through the log, and reads to the local copy. */
function replicatedProfiles(connection: Pick<StoreConnection, "ask">): ProfileStore {
  return {
    ...passedOn("profiles", (operation, args) => connection.ask(operation, args)),
    async commit(change) {
      await connection.ask("commitProfiles", change);
    },
    async compact() {
      await connection.ask("compact", {});
    },
    snapshots: passedOn("profileSnapshots", (operation, args) => connection.ask(operation, args)),
    // The stores of an owner are closed together.
    close: async () => {},
  };
}

/** Append requests of this size take no more batches. Several share an entry. */
const REQUEST_BYTES = 256 * 1024;

interface LeadParts {
  readonly engine: ReplicationEngine;
  readonly clock: Clock;
  /** It contains the entry with which this process took over. */
  readonly copy: Copy;
  apply(sequence: number, data: Uint8Array<ArrayBuffer>, isAnswered: boolean): Promise<AppliedEntry>;
  /** Removes deleted data from the log and the snapshots, until leading has ended. */
  compacted(ended: AbortSignal): Promise<void>;
  /** Called once when leading has ended. Without a reason, it was ended in order. */
  ended(reason: string | undefined): void;
}

/** One time that this process leads. */
export interface Leading {
  readonly stores: LeadingStores;
  /** The copy's numbers have changed. */
  stats(stats: LogStats): void;
  /** The log's end was read. */
  sawEnd(last: number): void;
  /** Ends leading because it cannot go on. Calls that wait are rejected. */
  fail(reason: string): void;
  /** The same, but `ended` is not called. */
  end(reason: string): void;
}

/** Builds the stores of the owner. */
export async function lead({ engine, clock, copy, apply, compacted, ended }: LeadParts): Promise<Leading> {
  const endedOnce = once(ended);
  const client = new StoreClient(clock, REQUEST_BYTES);
  client.events.opened(await copy.ask("describe", {}));
  const { sequence: last, session, number } = copy.applied;
  const writer = new Writer({
    log: engine.log,
    clock,
    session,
    last,
    number,
    apply,
    onEnded: (reason) => {
      connection.end(reason);
      stopRetaining();
      endedOnce(reason);
    },
  });
  const connection = new LeadingConnection({ engine, writer, copy, compacted, now: () => clock.now() });
  const store = client.storeOver(connection);
  // Closing an ended store only stops its timers.
  const stopRetaining = (): void => void store.close();
  const end = (reason: string): void => {
    writer.end(reason);
    connection.end(reason);
    stopRetaining();
  };
  return {
    stores: {
      store,
      profiles: replicatedProfiles(connection),
      async stepDown() {
        await store.close();
        endedOnce(undefined);
      },
    },
    stats: client.events.stats,
    sawEnd: (seen) => void writer.sawEnd(seen),
    fail(reason) {
      end(reason);
      endedOnce(reason);
    },
    end,
  };
}

function once(run: LeadParts["ended"]): LeadParts["ended"] {
  let isDone = false;
  return (reason) => {
    if (isDone) return;
    isDone = true;
    run(reason);
  };
}
