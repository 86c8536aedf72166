import type { ClusterTrouble } from "../trouble.ts";
import { cutOwner, freezeOwner, killFollower, killOwner, stopOwner, wipeCollector } from "./collectors.ts";
import { restartAll, rollingRestart } from "./everything.ts";
import { fullDiskOfNats, fullDiskOfOwner } from "./full-disks.ts";
import { killNatsLeader, killNatsMajority, wipeNats } from "./nats-servers.ts";

/** In the order of the table. */
export const CLUSTER_TROUBLES: readonly ClusterTrouble[] = [
  killOwner,
  killFollower,
  stopOwner,
  freezeOwner,
  cutOwner,
  wipeCollector,
  killNatsLeader,
  killNatsMajority,
  wipeNats,
  fullDiskOfNats,
  fullDiskOfOwner,
  restartAll,
  rollingRestart,
];
