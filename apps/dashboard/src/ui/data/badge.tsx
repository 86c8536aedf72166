import type { ReactNode } from "react";
import { type OutcomeState, STATES, type Tone } from "../../words/states.js";

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
