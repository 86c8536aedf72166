import { systemClock } from "@sluice/resilience";
import type { Io } from "../../terminal/io.js";
import type { KnownTargets, Targets } from "./choose-delivery.js";

export interface RefusedJoins {
  /** The source's total of the last days. */
  readonly total: number;
  /** Whether every stored message has been counted. */
  readonly isComplete: boolean;
}

const TIMEOUT_MS = 5_000;

/** How many identify and alias messages of a source had ids that were not joined. Undefined if the collector does not say. */
async function readRefusedJoins(
  { client, sourceId }: KnownTargets,
  io: Io,
): Promise<RefusedJoins | undefined> {
  try {
    const signal = AbortSignal.any([io.interrupted, AbortSignal.timeout(TIMEOUT_MS)]);
    // Whether everything is counted is asked first: what is counted afterwards is in the total.
    const { behind } = await client.call("GET /audience-engine", { signal });
    const { refusedJoins } = await client.call("GET /problems", { signal });
    const total = refusedJoins.find((one) => one.sourceId === sourceId)?.messages ?? 0;
    return { total, isComplete: behind === 0 };
  } catch {
    // The import itself reports a collector that does not respond.
    return undefined;
  }
}

/** Counts the refused joins between two moments. Other messages of the source in that time count too. */
export interface RefusedJoinCounter {
  start(): Promise<void>;
  /** Waits a few seconds until all messages are counted. Undefined if it is not known. */
  end(): Promise<number | undefined>;
}

const WAIT_MS = 5_000;
const ASK_EVERY_MS = 200;

export function refusedJoinCounter(targets: Targets, io: Io): RefusedJoinCounter {
  const read = async () => (targets.kind === "known" ? await readRefusedJoins(targets, io) : undefined);
  let before: RefusedJoins | undefined;
  return {
    async start() {
      before = await read();
    },
    async end() {
      if (before === undefined) return undefined;
      const startMs = io.monotonic();
      for (;;) {
        const now = await read();
        if (now === undefined || now.isComplete) return now && Math.max(0, now.total - before.total);
        if (io.monotonic() - startMs > WAIT_MS || io.interrupted.aborted) return undefined;
        await systemClock.sleep(ASK_EVERY_MS, io.interrupted);
      }
    },
  };
}
