import type { ChannelName } from "@sluice/control-api";
import { type ConfigStore, DOCUMENT_KINDS, type Versioned } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import type { Counter } from "../../process/telemetry/metrics.js";
import type { Channel, ChannelResult, Outgoing } from "../channels/channel.js";
import { abandoned, afterAttempt, type ChannelState, isDue, type Notification } from "./notification.js";

/** Notifications to keep. Older ones are deleted, so one that still waits then is lost; the log says so. */
export const MOST_NOTIFICATIONS = 200;

export interface OutboxDeps {
  readonly config: ConfigStore;
  readonly clock: Clock;
  readonly channels: () => ReadonlyMap<ChannelName, Channel>;
  /** By channel and result. */
  readonly attempts: Counter;
  readonly onFailed: (notification: Notification, channel: ChannelName, error: string) => void;
}

/**
 * Sends the stored notifications whose time has come, the oldest first, and stores what became of them. A channel that fails is not asked
 * again in the same call: with many notifications, a mail server that hangs would keep the caller for hours.
 */
export async function sendDue(deps: OutboxDeps, isStopped: () => boolean): Promise<void> {
  const { config, clock } = deps;
  const all = await config.list<Notification>(DOCUMENT_KINDS.notification);
  const excess = all.slice(0, Math.max(0, all.length - MOST_NOTIFICATIONS));
  for (const { id, value } of excess) {
    for (const [name, state] of statesOf(value))
      if (state.state === "pending") deps.onFailed(value, name, "there are too many newer notifications");
    await config.delete(DOCUMENT_KINDS.notification, id);
  }
  const failing = new Set<ChannelName>();
  for (const stored of all.slice(excess.length)) {
    if (isStopped()) return;
    const due = statesOf(stored.value).filter(
      ([name, state]) => isDue(state, clock.now()) && !failing.has(name),
    );
    if (due.length > 0) for (const name of await sendOne(stored, due, deps)) failing.add(name);
  }
}

/** Resolves with the channels that failed. */
async function sendOne(
  { id, value, version }: Versioned<Notification>,
  due: readonly (readonly [ChannelName, ChannelState])[],
  deps: OutboxDeps,
): Promise<ChannelName[]> {
  const sent = await Promise.all(
    due.map(async ([name, state]) => [name, await attempt(id, value, name, state, deps)] as const),
  );
  await deps.config.put(
    DOCUMENT_KINDS.notification,
    id,
    { ...value, channels: { ...value.channels, ...Object.fromEntries(sent) } },
    version,
  );
  const channels = deps.channels();
  return sent.flatMap(([name, { state }]) => (state === "sent" || !channels.has(name) ? [] : [name]));
}

async function attempt(
  id: string,
  notification: Notification,
  name: ChannelName,
  state: ChannelState,
  { clock, channels, attempts, onFailed }: OutboxDeps,
): Promise<ChannelState> {
  const channel = channels().get(name);
  if (channel === undefined) return abandoned(state, clock.now(), "The channel was removed");
  const result = await channel.send(outgoingOf(id, notification, state.attempts + 1));
  attempts.inc([name, result.kind]);
  const after = afterAttempt(state, result, {
    createdAtMs: notification.atMs,
    nowMs: clock.now(),
    random: clock.random(),
  });
  if (result.kind === "failed") onFailed(notification, name, result.detail);
  return after;
}

/** Sends a test over some channels, once. */
export async function sendTest(
  channels: readonly Channel[],
  outgoing: Outgoing,
): Promise<readonly (ChannelResult & { readonly channel: ChannelName })[]> {
  return Promise.all(
    channels.map(async (channel) => ({ channel: channel.name, ...(await channel.send(outgoing)) })),
  );
}

function outgoingOf(id: string, notification: Notification, attemptNumber: number): Outgoing {
  const { channels: _, ...rest } = notification;
  return { id, attempt: attemptNumber, ...rest };
}

function statesOf({ channels }: Notification): [ChannelName, ChannelState][] {
  return Object.entries(channels) as [ChannelName, ChannelState][];
}
