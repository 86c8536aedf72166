import type { Random } from "../seeded-random.ts";
import type { ClusterWorld } from "./cluster-world.ts";
import type { Probes } from "./probes.ts";

/** What a trouble of a cluster works with. */
export interface ClusterScene {
  readonly world: ClusterWorld;
  readonly random: Random;
  readonly probes: Probes;
  readonly isShort: boolean;
  /** The times are measured from now, with the answers of all processes but `struck`. */
  mark(struck?: string): void;
}

export interface ClusterTrouble {
  /** For `--only`. */
  readonly name: string;
  /** For the table. */
  readonly title: string;
  /** Why the world cannot have this trouble; undefined if it can. */
  lacks?(world: ClusterWorld): string | undefined;
  /** Strikes while messages are sent. Resolves when everything runs again. Rejects when something happened that must not. */
  strike(scene: ClusterScene): Promise<void>;
}
