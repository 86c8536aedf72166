import type { ReactNode } from "react";

/** One number with its label; the note says what it counts and since when. */
export function Stat({ label, value, note }: { label: string; value: ReactNode; note: ReactNode }) {
  return (
    <div className="stat">
      <span className="stat-label">{label}</span>
      <span className="stat-value number">{value ?? "…"}</span>
      <span className="stat-note">{note}</span>
    </div>
  );
}
