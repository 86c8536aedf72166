import type { LiveEventView } from "@sluice/control-api";
import type { ControlApi } from "./control-api.js";

/** The state of the live stream. `waiting`: until the next attempt to connect. */
export type StreamState = "connecting" | "open" | "waiting";

export interface LiveStreamListener {
  onEvent(event: LiveEventView): void;
  onState(state: StreamState): void;
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;

/**
 * Keeps a live stream open until `signal` aborts. Reconnects with the id of the last event, so that the collector sends
 * the missed events.
 */
export async function followLive(
  api: Pick<ControlApi, "live">,
  filter: string,
  listener: LiveStreamListener,
  signal: AbortSignal,
): Promise<void> {
  let lastEventId: string | undefined;
  for (let failures = 0; !signal.aborted; failures++) {
    listener.onState("connecting");
    try {
      const items = api.live(
        {
          ...(filter === "" ? {} : { q: filter }),
          ...(lastEventId === undefined ? {} : { lastEventId }),
          signal,
        },
        () => {
          failures = 0;
          listener.onState("open");
        },
      );
      for await (const { id, event } of items) {
        lastEventId = id ?? lastEventId;
        listener.onEvent(event);
      }
    } catch {
      // Lost connections and aborts both end here. The check below tells them apart.
    }
    if (signal.aborted) return;
    listener.onState("waiting");
    await wait(Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures), signal);
  }
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done, { once: true });
    function done() {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    }
  });
}
