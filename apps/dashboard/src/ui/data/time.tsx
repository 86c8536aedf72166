import { useNow } from "../../api/collector-clock.js";
import { exactTime, relativeTime } from "../../words/times.js";

/** A relative time such as "4 min ago" that stays current; the tooltip has the exact time. */
export function Time({ at }: { at: string }) {
  const nowMs = useNow();
  return (
    <time dateTime={at} title={exactTime(at)} className="nowrap">
      {relativeTime(Date.parse(at), nowMs)}
    </time>
  );
}
