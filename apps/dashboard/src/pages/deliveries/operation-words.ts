import type { OperationView } from "@sluice/control-api";
import { count, counted } from "../../words/numbers.js";

const VERBS = { retry: "Retry", replay: "Replay", discard: "Discard" } as const;

/** `Retry of 1,204 deliveries`. */
export function operationTitle({ kind, state, total }: OperationView): string {
  if (state === "selecting") return `${VERBS[kind]}: finding the deliveries`;
  return `${VERBS[kind]} of ${counted(total, "delivery", "deliveries")}`;
}

export function isRunning({ state }: OperationView): boolean {
  return state === "selecting" || state === "running";
}

/** `1,100 delivered, 4 failed again (HTTP 503), 100 skipped`. */
export function operationResult({ results, causes, waiting }: OperationView): string {
  const why = causes.map(({ title }) => title).join(", ");
  const parts = [
    [results.delivered, "delivered"],
    [results.discarded, "discarded"],
    [results.failed, `failed again${why === "" ? "" : ` (${why})`}`],
    [results.skipped, "skipped"],
    [waiting, "waiting for a result"],
  ] as const;
  const shown = parts.flatMap(([number, words]) => (number === 0 ? [] : [`${count(number)} ${words}`]));
  return shown.length === 0 ? "No results yet" : shown.join(", ");
}
