import type { Random } from "../../world/random.js";
import { aim } from "../aim.js";
import type { Scenario } from "../scenario.js";
import type { StepKind } from "../steps.js";
import { RARE_EVENT, refuse } from "./source.js";

/** A thread of the collector is in trouble. */
export interface WorkerStep {
  readonly kind: "worker";
  readonly atMs: number;
  readonly worker: number;
  readonly what: WorkerTrouble;
}

export type WorkerTrouble =
  /** Nothing comes to it, or from it. A change of settings waits for it. */
  | { readonly do: "hold"; readonly forMs: number }
  /** It ends. Its last calls are on their way for so long, perhaps until another thread has its destinations. */
  | { readonly do: "die"; readonly lateMs: number; readonly sdk: number }
  /** Its calls are slow to arrive, while a plan begins to refuse an event that it takes. */
  | { readonly do: "lag"; readonly lateMs: number; readonly sdk: number };

const LATE_FOR_MS = 400;
/** How soon after each other messages are sent meanwhile. */
const SENT_EVERY_MS = 40;
const REFUSED_FOR_MS = 60_000;
/** A change is answered when a thread has not followed it for ten seconds. Until it does, its calls are refused. */
export const LATER_THAN_WAITED_FOR_MS = 12_000;

export const workerSteps: StepKind<WorkerStep> = {
  kind: "worker",
  plan: (random, scenario, lengthMs) =>
    Array.from({ length: scenario.workers > 1 ? random.integer(1, 5) : 0 }, () => ({
      kind: "worker" as const,
      atMs: aim(random, scenario, lengthMs),
      worker: random.integer(0, scenario.workers - 2),
      what: anyTrouble(random, scenario),
    })),
  run({ worker, what }, { world, worker: workerAt, history, collector, sdks }) {
    const thread = workerAt(worker);
    if (what.do === "hold") {
      thread?.hold(what.forMs);
      return;
    }
    const sdk = sdks[what.sdk];
    if (sdk === undefined) return;
    thread?.delay(what.lateMs, LATE_FOR_MS);
    for (let atMs = 0; atMs < LATE_FOR_MS; atMs += SENT_EVERY_MS)
      world.after(atMs, () => sdk.sendNow({ userId: "u0", event: RARE_EVENT, properties: { n: atMs } }));
    if (what.do === "die") world.after(LATE_FOR_MS, () => thread?.die());
    else
      world.after(LATE_FOR_MS / 2, () => refuse({ world, history, collector }, sdk.sourceId, REFUSED_FOR_MS));
  },
};

function anyTrouble(random: Random, { sdks }: Scenario): WorkerTrouble {
  const trouble = random.pick(["hold", "die", "lag"] as const);
  if (trouble === "hold") return { do: trouble, forMs: random.pick([300, 3_000, 9_000]) };
  return {
    do: trouble,
    lateMs: random.pick([300, 5_000, LATER_THAN_WAITED_FOR_MS]),
    sdk: random.integer(0, sdks.length - 1),
  };
}
