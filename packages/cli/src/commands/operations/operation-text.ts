import type { OperationView } from "@sluice/control-api";
import { plural } from "../../terminal/plural.js";
import { terminalText } from "../../terminal/terminal-text.js";

const BAR_WIDTH = 24;

export function hasEnded({ state }: OperationView): boolean {
  return state !== "selecting" && state !== "running";
}

/** `1100 delivered, 4 failed again (HTTP 503), 100 skipped`. */
export function resultText({ results, causes, waiting }: OperationView): string {
  const why = causes.map(({ title }) => title).join(", ");
  const parts = [
    [results.delivered, "delivered"],
    [results.discarded, "discarded"],
    [results.failed, `failed again${why === "" ? "" : ` (${why})`}`],
    [results.skipped, "skipped"],
    [waiting, "waiting for a result"],
  ] as const;
  const shown = parts.flatMap(([count, words]) => (count === 0 ? [] : [`${count} ${words}`]));
  return terminalText(shown.length === 0 ? "no results yet" : shown.join(", "));
}

/** The line that is updated while an operation runs. */
export function progressText(operation: OperationView): string {
  const { state, total, done, ratePerSecond } = operation;
  if (state === "selecting") return "Finding the deliveries …";
  const share = total === 0 ? 1 : done / total;
  const filled = Math.round(share * BAR_WIDTH);
  const bar = "█".repeat(filled) + "░".repeat(BAR_WIDTH - filled);
  return `${bar} ${String(Math.floor(share * 100)).padStart(3)} %  ${done} of ${total}  ${Math.round(ratePerSecond)}/s`;
}

/** `retry op_1: finished, 1204 deliveries: 1100 delivered, …`. */
export function summaryText(operation: OperationView): string {
  const { id, kind, state, total } = operation;
  const head = `${kind} ${terminalText(id)}: ${state}, ${plural(total, "delivery", "deliveries")}`;
  return `${head}: ${resultText(operation)}\n`;
}
