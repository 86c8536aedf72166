import { useLayoutEffect, useRef } from "react";
import type { LogEntry } from "./live-log.js";
import type { LiveView } from "./use-live-log.js";

/** The top row of the list, and how many of its pixels are scrolled out of view. */
export interface LogPosition {
  readonly row: Pick<LogEntry, "key" | "receivedAt">;
  readonly hiddenPx: number;
}

/** Restores the position of the list once and reports it from then on. Loads older rows until the row is there. */
export function useLogPosition({
  view: { log, version, history, readOlder },
  rowHeight,
  position,
  onPosition,
  scrollTo,
}: {
  view: LiveView;
  rowHeight: number;
  /** Where the list starts. Undefined: at the top. */
  position: LogPosition | undefined;
  onPosition: (position: LogPosition | undefined) => void;
  scrollTo: (px: number) => void;
}) {
  const wanted = useRef(position);
  const stopRestoring = () => {
    wanted.current = undefined;
  };
  const canReadOlder = history === "more";
  // biome-ignore lint/correctness/useExhaustiveDependencies: search again after every change of the log
  useLayoutEffect(() => {
    if (wanted.current === undefined) return;
    const { row, hiddenPx } = wanted.current;
    const index = log.positionOf(row);
    if (index < 0) return canReadOlder ? readOlder() : undefined;
    stopRestoring();
    scrollTo(index * rowHeight + hiddenPx);
  }, [canReadOlder, log, version]);
  const onScrolled = (top: number) => {
    if (wanted.current !== undefined) return;
    const row = log.at(Math.floor(top / rowHeight));
    onPosition(top === 0 || row === undefined ? undefined : { row, hiddenPx: top % rowHeight });
  };
  return { stopRestoring, onScrolled };
}
