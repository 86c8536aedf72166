import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, useEffect, useId, useLayoutEffect, useRef } from "react";
import { useNames } from "../../api/queries.js";
import { NARROW, useMedia } from "../../ui/use-media.js";
import type { LogEntry } from "./live-log.js";
import { LogRow } from "./log-row.js";
import type { LiveView } from "./use-live-log.js";

/** The top row of the list, and how many of its pixels are scrolled out of view. */
export interface LogPosition {
  readonly row: Pick<LogEntry, "key" | "receivedAt">;
  readonly hiddenPx: number;
}

/** Restores the position of the list once and reports it from then on. Loads older rows until the row is there. */
function useLogPosition({
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

interface LogListProps {
  readonly view: LiveView;
  readonly selected: string | undefined;
  readonly onSelect: (entry: LogEntry) => void;
  readonly onOpen: (entry: LogEntry) => void;
  /** Whether the top is out of view. New rows must not move the others then. */
  readonly onScrolledAway: (isAway: boolean) => void;
  readonly position: LogPosition | undefined;
  readonly onPosition: (position: LogPosition | undefined) => void;
}

/** The rows. Only those in view are in the document. Arrow keys move, Enter opens. */
export function LogList(props: LogListProps) {
  const { view, selected, onSelect, onOpen, onScrolledAway, position, onPosition } = props;
  const { log } = view;
  const box = useRef<HTMLDivElement>(null);
  const id = useId();
  const names = useNames();
  const rowHeight = useMedia(NARROW) ? 62 : 38;
  const rows = useRows(view, box, rowHeight);
  const { stopRestoring, onScrolled } = useLogPosition({
    view,
    rowHeight,
    position,
    onPosition,
    scrollTo: (px) => rows.scrollToOffset(px),
  });
  const shown = rows.getVirtualItems();
  // By index, not by message id: an element id must not contain spaces, and only rows in view have one.
  const active = shown.find((item) => selected !== undefined && log.at(item.index)?.key === selected);
  const onKeyDown = useRowKeys({
    view,
    selected,
    onSelect,
    onOpen,
    scrollTo: (index) => rows.scrollToIndex(index),
  });
  return (
    <div
      ref={box}
      className="log"
      role="listbox"
      aria-label="Messages, newest first"
      tabIndex={0}
      aria-activedescendant={active === undefined ? undefined : `${id}-${active.index}`}
      onKeyDown={(event) => {
        stopRestoring();
        onKeyDown(event);
      }}
      onWheel={stopRestoring}
      onPointerDown={stopRestoring}
      onScroll={({ currentTarget: { scrollTop } }) => {
        onScrolledAway(scrollTop > rowHeight);
        onScrolled(scrollTop);
      }}
    >
      <div role="none" className="log-rows" style={{ height: rows.getTotalSize() }}>
        {shown.map((item) => {
          const entry = log.at(item.index);
          return (
            entry && (
              <LogRow
                key={entry.key}
                id={`${id}-${item.index}`}
                entry={entry}
                item={item}
                isSelected={entry.key === selected}
                total={log.size}
                nameOf={names.destination}
                onSelect={onSelect}
                onOpen={onOpen}
              />
            )
          );
        })}
      </div>
    </div>
  );
}

/** The virtual rows. Loads older messages when the last loaded row is near. */
function useRows(
  { log, version, history, readOlder }: LiveView,
  box: React.RefObject<HTMLDivElement | null>,
  rowHeight: number,
) {
  const rows = useVirtualizer({
    count: log.size,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    overscan: 12,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: measure again when the height changes
  useEffect(() => rows.measure(), [rowHeight]);
  const last = rows.getVirtualItems().at(-1)?.index ?? 0;
  const canReadOlder = history === "more";
  // biome-ignore lint/correctness/useExhaustiveDependencies: check again after every change of the log
  useEffect(() => {
    if (canReadOlder && last >= log.size - 30) readOlder();
  }, [canReadOlder, last, log, version]);
  return rows;
}

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1, PageDown: 12, PageUp: -12 };

/** Handles the keys of the list: arrows, Page Up and Down, Home and End select another row, Enter opens it. */
function useRowKeys({
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
