import { clockJumps } from "./clock-jumps.ts";
import { diskFull } from "./disk-full.ts";
import { failingSyncs, failingWrites, slowSyncs } from "./failing-disk.ts";
import { killCollector } from "./kill-collector.ts";
import { killSdk, killSdkWithSpool } from "./kill-sdk.ts";
import { blackHoles, resets, slowReceivers } from "./network.ts";
import { pauseCollector } from "./pause-collector.ts";
import { powerCut } from "./power-cut.ts";
import type { Trouble } from "./trouble.ts";

/** In the order of the table. */
export const TROUBLES: readonly Trouble[] = [
  killCollector,
  powerCut,
  killSdk,
  killSdkWithSpool,
  diskFull,
  failingSyncs,
  failingWrites,
  slowSyncs,
  pauseCollector,
  clockJumps,
  resets,
  blackHoles,
  slowReceivers,
];
