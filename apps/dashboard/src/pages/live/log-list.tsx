import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, useEffect, useId, useLayoutEffect, useRef } from "react";
import { KindTag } from "../../ui/data/badge.js";
import { NARROW, useMedia } from "../../ui/use-media.js";
import { messageTitle, messageUser } from "../../words/messages.js";
import { overallStateOf } from "../../words/overall-state.js";
import { clockTime, exactTime } from "../../words/times.js";
import type { LiveLog, LogEntry } from "./live-log.js";

/** The row that is on top, and by how much of it is out of sight. */
export interface LogPlace {
  readonly row: Pick<LogEntry, "key" | "receivedAt">;
  readonly hiddenPx: number;
}

/** The rows, of which only those in sight are in the page. Arrows walk, Enter opens. */
export function LogList({
  log,
  version,
  selected,
  canReadOlder,
  onSelect,
  onOpen,
  onReadOlder,
  onScrolledAway,
  place,
  onPlace,
}: {
  log: LiveLog;
  version: number;
  selected: string | undefined;
  canReadOlder: boolean;
  onSelect: (entry: LogEntry) => void;
  onOpen: (entry: LogEntry) => void;
  onReadOlder: () => void;
  /** Whether the top is out of sight: then new rows must not push what one reads. */
  onScrolledAway: (isAway: boolean) => void;
  /** Where to begin: older rows are read until it is there. */
  place: LogPlace | undefined;
  onPlace: (place: LogPlace | undefined) => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const id = useId();
  const isNarrow = useMedia(NARROW);
  const rowHeight = isNarrow ? 62 : 38;
  const rows = useVirtualizer({
    count: log.size,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    overscan: 12,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: rows are measured anew when their height changes
  useEffect(() => rows.measure(), [rowHeight]);
  const shown = rows.getVirtualItems();
  // By place, not by message id: an id of the page may hold no blank, and only rows in sight can be named.
  const active = shown.find((item) => selected !== undefined && log.at(item.index)?.key === selected);
  const last = shown.at(-1)?.index ?? 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked again after every change of the log
  useEffect(() => {
    if (canReadOlder && last >= log.size - 30) onReadOlder();
  }, [canReadOlder, last, log, version]);

  const sought = useRef(place);
  const stopSeeking = () => {
    sought.current = undefined;
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: looked for again after every change of the log
  useLayoutEffect(() => {
    if (sought.current === undefined) return;
    const { row, hiddenPx } = sought.current;
    const index = log.placeOf(row);
    if (index < 0) return canReadOlder ? onReadOlder() : undefined;
    stopSeeking();
    rows.scrollToOffset(index * rowHeight + hiddenPx);
  }, [canReadOlder, log, version]);
  const scrolled = (top: number) => {
    onScrolledAway(top > rowHeight);
    if (sought.current !== undefined) return;
    const row = log.at(Math.floor(top / rowHeight));
    onPlace(top === 0 || row === undefined ? undefined : { row, hiddenPx: top % rowHeight });
  };

  const walk = (event: KeyboardEvent) => {
    stopSeeking();
    const at = selected === undefined ? -1 : log.indexOf(selected);
    const entry = log.at(at);
    if (event.key === "Enter" && entry !== undefined) return onOpen(entry);
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 12, PageUp: -12 }[event.key];
    const target =
      event.key === "Home"
        ? 0
        : event.key === "End"
          ? log.size - 1
          : step === undefined
            ? undefined
            : at + step;
    if (target === undefined) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(log.size - 1, target));
    const row = log.at(next);
    if (row === undefined) return;
    rows.scrollToIndex(next);
    onSelect(row);
  };

  return (
    <div
      ref={box}
      className="log"
      role="listbox"
      aria-label="Messages, newest first"
      tabIndex={0}
      aria-activedescendant={active === undefined ? undefined : `${id}-${active.index}`}
      onKeyDown={walk}
      onWheel={stopSeeking}
      onPointerDown={stopSeeking}
      onScroll={(event) => scrolled(event.currentTarget.scrollTop)}
    >
      <div role="none" className="log-rows" style={{ height: rows.getTotalSize() }}>
        {shown.map((item) => {
          const entry = log.at(item.index);
          if (entry === undefined) return null;
          return (
            // biome-ignore lint/a11y/useFocusableInteractive: the list has the focus and names its active row
            // biome-ignore lint/a11y/useKeyWithClickEvents: the list takes the keys
            <div
              key={entry.key}
              id={`${id}-${item.index}`}
              role="option"
              aria-selected={entry.key === selected}
              aria-setsize={log.size}
              aria-posinset={item.index + 1}
              className="log-row"
              style={{ transform: `translateY(${item.start}px)`, height: item.size }}
              onClick={() => onSelect(entry)}
              onDoubleClick={() => onOpen(entry)}
            >
              <LogRow entry={entry} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

function LogRow({ entry }: { entry: LogEntry }) {
  const verdict =
    entry.kind === "rejected"
      ? ({ label: "Rejected", tone: "bad" } as const)
      : overallStateOf(entry.outcomes);
  return (
    <>
      <time className="log-time number" dateTime={entry.receivedAt} title={exactTime(entry.receivedAt)}>
        {clockTime(Date.parse(entry.receivedAt))}
      </time>
      <KindTag kind={String(entry.message.type ?? "?")} />
      <span className="log-title">{messageTitle(entry.message)}</span>
      <span className="log-user mono">{messageUser(entry.message)}</span>
      <span className={`log-verdict tone-${verdict.tone}`}>
        <span className="dot" aria-hidden="true" />
        {verdict.label}
      </span>
    </>
  );
}
