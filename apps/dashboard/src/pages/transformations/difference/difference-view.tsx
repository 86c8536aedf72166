import { escapeHidden } from "../../../words/messages.js";

/** A line of a difference; `left-out` stands for unchanged lines, which its text counts. */
interface DifferenceLine {
  readonly kind: "same" | "added" | "removed" | "left-out";
  readonly text: string;
}

/** Unchanged lines that are shown around a change. */
const CONTEXT = 3;
/** Beyond this many comparisons, all lines count as changed. */
const MOST_WORK = 4_000_000;

/** The lines of `after` and what of `before` is not in it, with some unchanged lines around each change. */
export function differenceOf(before: string, after: string): readonly DifferenceLine[] {
  return withoutMiddles(lineDifference(before.split("\n"), after.split("\n")));
}

/** A comma after a line of JSON depends only on the line that follows. */
const same = (a: string | undefined, b: string | undefined) => a?.replace(/,$/, "") === b?.replace(/,$/, "");

function lineDifference(before: readonly string[], after: readonly string[]): DifferenceLine[] {
  let start = 0;
  while (start < Math.min(before.length, after.length) && same(before[start], after[start])) start++;
  let end = 0;
  const most = Math.min(before.length, after.length) - start;
  while (end < most && same(before.at(-1 - end), after.at(-1 - end))) end++;
  const line = (kind: DifferenceLine["kind"]) => (text: string) => ({ kind, text });
  return [
    ...after.slice(0, start).map(line("same")),
    ...changedLines(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...after.slice(after.length - end).map(line("same")),
  ];
}

/** By the longest common subsequence: `common[i][j]` is its length from line i and line j on. */
function changedLines(before: readonly string[], after: readonly string[]): DifferenceLine[] {
  const width = after.length + 1;
  const isTooMuch = before.length * after.length > MOST_WORK;
  const common = new Uint32Array(isTooMuch ? 0 : (before.length + 1) * width);
  const at = (i: number, j: number) => common[i * width + j] ?? 0;
  if (!isTooMuch)
    for (let i = before.length - 1; i >= 0; i--)
      for (let j = after.length - 1; j >= 0; j--)
        common[i * width + j] = same(before[i], after[j])
          ? at(i + 1, j + 1) + 1
          : Math.max(at(i + 1, j), at(i, j + 1));
  const lines: DifferenceLine[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    const [old, now] = [before[i], after[j]];
    if (old !== undefined && now !== undefined && !isTooMuch && same(old, now)) {
      lines.push({ kind: "same", text: now });
      i++;
      j++;
    } else if (old !== undefined && (now === undefined || at(i + 1, j) >= at(i, j + 1))) {
      lines.push({ kind: "removed", text: old });
      i++;
    } else {
      lines.push({ kind: "added", text: now ?? "" });
      j++;
    }
  }
  return lines;
}

function withoutMiddles(lines: readonly DifferenceLine[]): readonly DifferenceLine[] {
  const isNearChange = (at: number) =>
    lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some(({ kind }) => kind !== "same");
  const shown: DifferenceLine[] = [];
  let left: DifferenceLine[] = [];
  const end = () => {
    const [only] = left;
    if (only !== undefined)
      shown.push(left.length === 1 ? only : { kind: "left-out", text: `${left.length} unchanged lines` });
    left = [];
  };
  for (const [at, line] of lines.entries()) {
    if (isNearChange(at)) {
      end();
      shown.push(line);
    } else left.push(line);
  }
  end();
  return shown;
}

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
