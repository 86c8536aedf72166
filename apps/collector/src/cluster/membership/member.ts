import type { LeaseRecord } from "@sluice/event-log";

/** What a process of the cluster says about itself, every few seconds. */
export interface MemberFacts {
  readonly node: string;
  /** Differs at each start of a process. */
  readonly instance: string;
  readonly address: string;
  readonly version: string;
  readonly startedAtMs: number;
  readonly role: "following" | "starting" | "leading" | "ending";
  /** Its copy can become the owner's. */
  readonly isReady: boolean;
  /** The last entry of the log that its copy contains. */
  readonly applied: number;
  /** Entries of the log that its copy does not contain yet. */
  readonly behindEntries: number;
  /** Age of the oldest of these; 0 if there are none. */
  readonly behindMs: number;
  /** Why its copy does not follow the log. */
  readonly problem?: string;
}

export interface Member extends MemberFacts {
  readonly revision: number;
  readonly isDrained: boolean;
  /** It wrote its record a short while ago, by this process's monotonic clock. */
  readonly isAlive: boolean;
  /** Time since this process saw its record change. */
  readonly silentMs: number;
  /** Heartbeats that should have come since. */
  readonly missedBeats: number;
}

const FORMAT = 1;

export function writeMember(facts: MemberFacts): string {
  return JSON.stringify({ format: FORMAT, ...facts });
}

/** Undefined if another version of Sluice wrote it in another format: it is shown to nobody. */
export function readMember({ value }: LeaseRecord): MemberFacts | undefined {
  const { format, ...facts } = JSON.parse(value) as MemberFacts & { readonly format: number };
  return format === FORMAT ? facts : undefined;
}
