import type { ReactNode } from "react";
import { useNow } from "../../api/collector-clock.js";
import { count } from "../../words/numbers.js";
import { type OutcomeState, STATES, type Tone } from "../../words/states.js";
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

/** The time of the last of something. */
export function LastAt({ at }: { at: string | undefined }) {
  return at === undefined ? <span className="soft">None yet</span> : <Time at={at} />;
}

/** A count in a table. Zero is faint, so that other counts stand out. */
export function Count({ value }: { value: number | undefined }) {
  if (value === undefined) return <>…</>;
  return <span className={value === 0 ? "number faint" : "number"}>{count(value)}</span>;
}

/** `steady` keeps the width while the text changes. */
export function Badge({
  tone,
  title,
  steady = false,
  children,
}: {
  tone: Tone;
  title?: string;
  steady?: boolean;
  children: ReactNode;
}) {
  return (
    <span className={`badge ${steady ? "badge-steady " : ""}tone-${tone}`} title={title}>
      {children}
    </span>
  );
}

/** A state as text. The colour is only decoration. */
export function StateBadge({ state, title }: { state: OutcomeState; title?: string }) {
  const words = STATES[state];
  return (
    <span className={`badge tone-${words.tone}`} title={title ?? words.meaning}>
      <span className="dot" aria-hidden="true" />
      {words.label}
    </span>
  );
}

/** The kind of a message. All kinds have the same width, so that lists align. */
export function KindTag({ kind }: { kind: string }) {
  return <span className={`kind kind-${/^[a-z]+$/.test(kind) ? kind : "other"}`}>{kind.slice(0, 12)}</span>;
}

/** One number with its label; the note says what it counts and since when. `trend`: how it came about, oldest first. */
export function Stat({
  label,
  value,
  note,
  trend = [],
}: {
  label: string;
  value: ReactNode;
  note: ReactNode;
  trend?: readonly number[];
}) {
  return (
    <div className="stat">
      <span className="stat-label">{label}</span>
      <span className="stat-value number">{value ?? "…"}</span>
      <span className="stat-note">{note}</span>
      {trend.length > 1 && <Trend values={trend} />}
    </div>
  );
}

const WIDTH = 96;
const HEIGHT = 30;

/** The shape of a curve, without numbers: the chart below has them. */
function Trend({ values }: { values: readonly number[] }) {
  const most = Math.max(...values, Number.MIN_VALUE);
  const points = values.map((value, index) => {
    const x = (index * WIDTH) / (values.length - 1);
    return `${x.toFixed(1)},${(1 + (1 - value / most) * (HEIGHT - 2)).toFixed(1)}`;
  });
  return (
    <svg
      className="trend"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
      focusable="false"
    >
      <polyline vectorEffect="non-scaling-stroke" points={points.join(" ")} />
    </svg>
  );
}
