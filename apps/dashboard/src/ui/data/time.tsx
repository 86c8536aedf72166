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

/** The time of something that is planned: once it has passed, it is due, but may still wait for its turn. */
export function DueTime({ at }: { at: string }) {
  const isDue = Date.parse(at) <= useNow();
  return isDue ? <span title="Starts as soon as possible">due now</span> : <Time at={at} />;
}

/** The time of the last of something, or that there was none since the collector started: it remembers nothing earlier. */
export function LastAt({ at }: { at: string | undefined }) {
  return at === undefined ? <span className="soft">None since start</span> : <Time at={at} />;
}
