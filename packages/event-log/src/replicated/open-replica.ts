import { checkNode } from "../sqlite/database/check-node.js";
import { LocalReplica } from "./local-replica.js";
import type { Replica, ReplicaOptions } from "./replica.js";

/** Opens the local copy, or loads one, and follows the log from then on. */
export async function openReplica(options: ReplicaOptions): Promise<Replica> {
  checkNode();
  return LocalReplica.open(options);
}
