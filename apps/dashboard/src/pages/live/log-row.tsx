import type { VirtualItem } from "@tanstack/react-virtual";
import { KindTag } from "../../ui/data/badge.js";
import { Icon } from "../../ui/icon.js";
import { messageTitle, messageUser } from "../../words/messages.js";
import { overallStateOf } from "../../words/overall-state.js";
import { clockTime, exactTime } from "../../words/times.js";
import type { LogEntry } from "./live-log.js";

/** One row of the list, at its position in the scrolled content. */
export function LogRow({
  id,
  entry,
  item,
  isSelected,
  total,
  onSelect,
  onOpen,
}: {
  id: string;
  entry: LogEntry;
  item: VirtualItem;
  isSelected: boolean;
  total: number;
  onSelect: (entry: LogEntry) => void;
  onOpen: (entry: LogEntry) => void;
}) {
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: the list has the focus and names its active row
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list handles the keys
    <div
      id={id}
      role="option"
      aria-selected={isSelected}
      aria-setsize={total}
      aria-posinset={item.index + 1}
      className="log-row"
      style={{ transform: `translateY(${item.start}px)`, height: item.size }}
      onClick={() => onSelect(entry)}
      onDoubleClick={() => onOpen(entry)}
    >
      <RowContent entry={entry} />
    </div>
  );
}

function RowContent({ entry }: { entry: LogEntry }) {
  const state =
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
      <span className={`log-verdict tone-${state.tone}`}>
        <span className="dot" aria-hidden="true" />
        {state.label}
        {entry.kind === "accepted" && entry.violations !== undefined && (
          <span title="Violates the tracking plan">
            <Icon name="alert" size={14} />
            <span className="visually-hidden">Violates the tracking plan</span>
          </span>
        )}
      </span>
    </>
  );
}
