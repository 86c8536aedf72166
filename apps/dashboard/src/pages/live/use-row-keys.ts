import type { KeyboardEvent } from "react";
import type { LogEntry } from "./live-log.js";
import type { LiveView } from "./use-live-log.js";

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1, PageDown: 12, PageUp: -12 };

/** Handles the keys of the list: arrows, Page Up and Down, Home and End select another row, Enter opens it. */
export function useRowKeys({
  view: { log },
  selected,
  onSelect,
  onOpen,
  scrollTo,
}: {
  view: LiveView;
  selected: string | undefined;
  onSelect: (entry: LogEntry) => void;
  onOpen: (entry: LogEntry) => void;
  scrollTo: (index: number) => void;
}): (event: KeyboardEvent) => void {
  return (event) => {
    const at = selected === undefined ? -1 : log.indexOf(selected);
    const entry = log.at(at);
    if (event.key === "Enter" && entry !== undefined) return onOpen(entry);
    const target = targetOf(event.key, at, log.size);
    if (target === undefined) return;
    event.preventDefault();
    const row = log.at(target);
    if (row === undefined) return;
    scrollTo(target);
    onSelect(row);
  };
}

/** The row that a key moves to from row `at` (-1: none). Undefined: the key does not move. */
function targetOf(key: string, at: number, size: number): number | undefined {
  if (key === "Home") return 0;
  if (key === "End") return Math.max(0, size - 1);
  const step = STEPS[key];
  return step === undefined ? undefined : Math.max(0, Math.min(size - 1, at + step));
}
