import { isBuiltInSource } from "@sluice/protocol";
import type { VirtualItem } from "@tanstack/react-virtual";
import { KindTag } from "../../ui/data/facts.js";
import { Icon } from "../../ui/icon.js";
import { messageDetails, messageTitle, messageUser, visibleText } from "../../words/messages.js";
import { type OverallState, overallStateOf } from "../../words/states.js";
import { clockTime, exactTime } from "../../words/times.js";
import type { LogEntry } from "./live-log.js";

/** One row of the list, at its position in the scrolled content. */
export function LogRow({
  id,
  entry,
  item,
  isSelected,
  total,
  nameOf,
  onSelect,
  onOpen,
}: {
  id: string;
  entry: LogEntry;
  item: VirtualItem;
  isSelected: boolean;
  total: number;
  /** The name of a destination. */
  nameOf: (destinationId: string) => string;
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
      <RowContent entry={entry} nameOf={nameOf} />
    </div>
  );
}

function RowContent({ entry, nameOf }: { entry: LogEntry; nameOf: (destinationId: string) => string }) {
  const state = verdictOf(entry, nameOf);
  return (
    <>
      <time className="log-time number" dateTime={entry.receivedAt} title={exactTime(entry.receivedAt)}>
        {clockTime(Date.parse(entry.receivedAt))}
      </time>
      <KindTag kind={String(entry.message.type ?? "?")} />
      <span className="log-title">{messageTitle(entry.message)}</span>
      <span className="log-details">{messageDetails(entry.message)}</span>
      {/* The id of an incident says nothing that its properties do not. */}
      <span className="log-user mono">
        {isBuiltInSource(entry.sourceId) ? "" : messageUser(entry.message)}
      </span>
      <span className={`log-verdict tone-${state.tone}`}>
        <span className="dot" aria-hidden="true" />
        <span title={state.more}>{state.label}</span>
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

/** What became of a message. Of failures, where: `Failed: CRM sync +3`. */
function verdictOf(
  entry: LogEntry,
  nameOf: (destinationId: string) => string,
): OverallState & { readonly more?: string } {
  if (entry.kind === "rejected")
    return { label: `Rejected: ${entry.issues[0]?.code ?? "not valid"}`, tone: "bad" };
  const names = entry.outcomes
    .filter(({ state }) => state === "failed")
    .map(({ destinationId }) => visibleText(nameOf(destinationId), 60));
  if (names.length === 0) return overallStateOf(entry.outcomes);
  const others = names.length > 1 ? ` +${names.length - 1}` : "";
  return { label: `Failed: ${names[0]}${others}`, tone: "bad", more: names.join("\n") };
}
