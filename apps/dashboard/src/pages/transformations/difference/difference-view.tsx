import { escapeHidden } from "../../../words/visible-text.js";
import { type DifferenceLine, differenceOf } from "./difference.js";

const SIGNS = { same: " ", added: "+", removed: "−", "left-out": "⋯" } as const;

/** Two texts as one, with a sign before the lines that were added or removed. `same`: what to say if they are equal. */
export function Difference({
  label,
  before,
  after,
  same,
}: {
  label: string;
  before: string;
  after: string;
  same: string;
}) {
  if (before === after) return <p className="soft">{same}</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable box must be reachable by keyboard
    <section className="code-text difference" tabIndex={0} aria-label={label}>
      <pre>
        {differenceOf(before, after).map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name
          <Line key={index} {...line} />
        ))}
      </pre>
    </section>
  );
}

function Line({ kind, text }: DifferenceLine) {
  return (
    <span className={`difference-line difference-${kind}`}>{`${SIGNS[kind]} ${escapeHidden(text)}\n`}</span>
  );
}

/** A message as the text that is compared. */
export function messageText(message: unknown): string {
  return JSON.stringify(message, null, 2);
}
