import type { Need } from "../disk/may.ts";
import type { StoreKind } from "../processes/collector-process.ts";
import type { SdkProcess } from "../processes/sdk-process.ts";
import type { Random } from "../seeded-random.ts";
import type { World } from "../world.ts";

/** What a trouble works with. */
export interface Scene {
  readonly world: World;
  readonly random: Random;
  /** The applications that send. A trouble may replace one. */
  readonly sdks: SdkProcess[];
  /** A shorter fault, for tests. */
  readonly isShort: boolean;
}

export interface Trouble {
  /** For `--only`. */
  readonly name: string;
  /** For the table. */
  readonly title: string;
  readonly stores: readonly StoreKind[];
  readonly needs: readonly Need[];
  /** Before the collector starts for the first time. */
  prepareWorld?(world: World): void;
  /** Starts the collector if it has to be started anew for each round. Default: it goes on. */
  startRound?(scene: Scene): Promise<void>;
  /** Options of the SDKs in `startSdk`. */
  startSdk?(world: World, index: number): SdkProcess;
  /** Strikes while messages are sent. Resolves when the fault is over, and the collector runs again. */
  strike(scene: Scene): Promise<void>;
}
