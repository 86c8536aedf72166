import type { ChannelName, IncidentKind } from "@sluice/control-api";
import { type BackoffOptions, backoffDelayMs } from "@sluice/resilience";
import type { ChannelResult } from "../channels/channel.js";

/**
 * Document of kind `notification`: a notification, and what became of it on each channel. It is stored together with the incident, before
 * anything is sent, so that a restart neither loses nor repeats it. Times are wall-clock milliseconds.
 */
export interface Notification {
  readonly atMs: number;
  readonly event: "opened" | "resolved";
  readonly kind: IncidentKind;
  readonly incidentId: string;
  readonly destinationId?: string;
  readonly title: string;
  readonly text: string;
  readonly channels: { readonly [name in ChannelName]?: ChannelState };
}

export type ChannelState =
  | {
      readonly state: "pending";
      readonly attempts: number;
      readonly nextAttemptAtMs: number;
      readonly lastError?: string;
    }
  | { readonly state: "sent"; readonly attempts: number; readonly atMs: number; readonly detail: string }
  | {
      readonly state: "failed";
      readonly attempts: number;
      readonly atMs: number;
      readonly lastError: string;
    };

/** A channel that fails is tried again for this long. News that is older wakes nobody up in time. */
export const GIVE_UP_AFTER_MS = 24 * 60 * 60_000;
const BACKOFF: BackoffOptions = { initialMs: 30_000, maxMs: 30 * 60_000, jitter: "equal" };

/** The state of a channel after an attempt. */
export function afterAttempt(
  before: ChannelState,
  result: Pick<ChannelResult, "kind" | "detail">,
  {
    createdAtMs,
    nowMs,
    random,
  }: { readonly createdAtMs: number; readonly nowMs: number; readonly random: number },
): ChannelState {
  const attempts = before.attempts + 1;
  const { detail } = result;
  if (result.kind === "sent") return { state: "sent", attempts, atMs: nowMs, detail };
  if (nowMs - createdAtMs >= GIVE_UP_AFTER_MS)
    return { state: "failed", attempts, atMs: nowMs, lastError: detail };
  const nextAttemptAtMs = nowMs + backoffDelayMs(attempts, BACKOFF, random);
  return { state: "pending", attempts, nextAttemptAtMs, lastError: detail };
}

/** Whether an attempt is due. If the clock was set back, the due time may be far in the future: no wait is longer than the longest. */
export function isDue(state: ChannelState, nowMs: number): boolean {
  if (state.state !== "pending") return false;
  return nowMs >= state.nextAttemptAtMs || state.nextAttemptAtMs - nowMs > (BACKOFF.maxMs ?? 0);
}

/** The state of a channel that is no longer set up. */
export function abandoned(before: ChannelState, nowMs: number, lastError: string): ChannelState {
  return before.state === "pending"
    ? { state: "failed", attempts: before.attempts, atMs: nowMs, lastError }
    : before;
}
