import type { ChannelName } from "@sluice/control-api";

/** What a channel sends. */
export interface Outgoing {
  /** The same on every attempt, so that receivers can drop repetitions. */
  readonly id: string;
  readonly atMs: number;
  readonly attempt: number;
  readonly event: "opened" | "resolved" | "test";
  /** Absent for a test. */
  readonly kind?: string;
  readonly incidentId?: string;
  readonly destinationId?: string;
  readonly title: string;
  readonly text: string;
}

/** How sending ended. Never an exception. */
export type ChannelResult =
  | { readonly kind: "sent"; readonly detail: string; readonly latencyMs: number }
  | { readonly kind: "failed"; readonly detail: string; readonly latencyMs: number };

export interface Channel {
  readonly name: ChannelName;
  /** Sends once. Never rejects, and ends within half a minute. */
  send(outgoing: Outgoing): Promise<ChannelResult>;
}
