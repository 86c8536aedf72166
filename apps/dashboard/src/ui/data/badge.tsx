import type { ReactNode } from "react";
import { type OutcomeState, STATES, type Tone } from "../../words/states.js";

/** `steady` keeps its width while its words change. */
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

/** A state in words, with its colour as decoration. */
export function StateBadge({ state, title }: { state: OutcomeState; title?: string }) {
  const words = STATES[state];
  return (
    <span className={`badge tone-${words.tone}`} title={title ?? words.meaning}>
      <span className="dot" aria-hidden="true" />
      {words.label}
    </span>
  );
}

/** The kind of a message, in the same width for every kind so that lists stay in line. */
export function KindTag({ kind }: { kind: string }) {
  return <span className={`kind kind-${/^[a-z]+$/.test(kind) ? kind : "other"}`}>{kind.slice(0, 12)}</span>;
}
