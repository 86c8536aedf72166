import type { ReactNode } from "react";

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
