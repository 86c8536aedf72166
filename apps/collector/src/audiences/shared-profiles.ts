import type { JoiningMessage, RefusedJoin } from "@sluice/audiences";
import type { Identity, Offset } from "@sluice/event-log";
import type { ProfileRemoval } from "../deletions/ids-of-user.js";

/** What the other partitions of a cluster ask of the profiles, which partition 0 keeps for all of them. Calls may be repeated. */
export interface SharedProfiles extends ProfileRemoval {
  refusedJoins(message: JoiningMessage): Promise<readonly RefusedJoin[]>;
  /** Removes every profile. */
  forgetAll(): Promise<void>;
  /** How far audiences have durably counted the messages of this partition. Undefined: they have not begun. */
  position(): Promise<Offset | undefined>;
}

export type ForgottenUsers = readonly {
  readonly identity: Identity;
  readonly identities: readonly Identity[];
}[];
