import type { ClusterNodeActor } from "../../actors/cluster-node.js";
import type { AfterCrash } from "../../world/copy-folder.js";
import { type EngineWeather, GOOD_ENGINE } from "../../world/engine-network.js";
import type { Random } from "../../world/random.js";
import { aim } from "../aim.js";
import type { StepKind } from "../steps.js";

/** Something happens to a process of a cluster, or between it and the engine. */
export interface ClusterStep {
  readonly kind: "cluster";
  readonly atMs: number;
  /** Whether the process owns the log then. */
  readonly of: "owner" | "follower";
  readonly what: ClusterTrouble;
}

export type ClusterTrouble =
  /** The network to the engine swallows everything: another process takes over, and what was sent arrives late. */
  | { readonly do: "silence"; readonly forMs: number }
  | { readonly do: "cut"; readonly forMs: number }
  | { readonly do: "weather"; readonly weather: EngineWeather; readonly forMs: number }
  | { readonly do: "crash"; readonly after: AfterCrash; readonly downMs: number }
  /** It makes a snapshot, and trims the log. */
  | { readonly do: "snapshot" }
  /** Another process takes the lease, whatever the owner does. */
  | { readonly do: "depose" };

export const clusterSteps: StepKind<ClusterStep> = {
  kind: "cluster",
  plan: (random, scenario, lengthMs) =>
    Array.from({ length: scenario.store === "replicated" ? random.integer(1, 6) : 0 }, () => ({
      kind: "cluster" as const,
      atMs: aim(random, scenario, lengthMs),
      of: random.chance(0.7) ? ("owner" as const) : ("follower" as const),
      what: anyTrouble(random),
    })),
  run({ of, what }, { world, cluster }) {
    const { owner } = cluster ?? {};
    const node = of === "owner" ? owner : cluster?.nodes.find((one) => one !== owner);
    if (cluster === undefined || node === undefined) return;
    world.note(`${node.name} ${what.do}`);
    if (what.do === "crash") {
      node.crash(what.after);
      world.after(what.downMs, () => node.start());
    } else if (what.do === "snapshot") node.replica?.snapshot().catch(() => {});
    else if (what.do === "depose") void cluster.depose();
    else if (what.do === "weather") {
      const { weather } = what;
      node.network.weather = weather;
      world.after(what.forMs, () => {
        if (node.network.weather === weather) node.network.weather = GOOD_ENGINE;
      });
    } else lose(node, what.do === "cut" ? "cut" : "silent", (end) => world.after(what.forMs, end));
  },
};

function lose(node: ClusterNodeActor, reach: "cut" | "silent", later: (end: () => void) => void): void {
  node.network.reach = reach;
  later(() => {
    node.network.reach = "connected";
  });
}

function anyTrouble(random: Random): ClusterTrouble {
  const forMs = random.pick([500, 5_000, 180_000, 900_000]);
  switch (
    random.pick(["silence", "silence", "cut", "weather", "crash", "snapshot", "depose", "depose"] as const)
  ) {
    case "silence":
      return { do: "silence", forMs };
    case "cut":
      return { do: "cut", forMs };
    case "weather":
      return { do: "weather", weather: anyWeather(random), forMs };
    case "crash":
      return {
        do: "crash",
        after: random.pick(["kept", "older", "lost"] as const),
        downMs: random.pick([0, 20_000, 900_000]),
      };
    case "snapshot":
      return { do: "snapshot" };
    default:
      return { do: "depose" };
  }
}

function anyWeather(random: Random): EngineWeather {
  const rate = (): number => random.pick([0, 0.1, 0.3]);
  return {
    delayMs: random.pick([
      [0, 20],
      [0, 500],
      [500, 3_000],
    ] as const),
    loseRequest: rate(),
    loseAnswer: rate(),
    duplicate: rate(),
  };
}
