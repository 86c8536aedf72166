import { formatTime } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";

/**
 * Returns a function that gives the clock's time as ISO 8601. The text is made once a millisecond, because calls come in bursts and
 * making it costs more than queueing the message.
 */
export function callTime(clock: Clock): () => string {
  let lastMs = Number.NaN;
  let text = "";
  return () => {
    const nowMs = clock.now();
    if (nowMs !== lastMs) {
      lastMs = nowMs;
      text = formatTime(nowMs);
    }
    return text;
  };
}
