import { parseFilter } from "@sluice/protocol";
import { type RefObject, useCallback, useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import { useSources } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { useAddressQuery, useScrollPositions } from "../../routing/dashboard-router.js";
import { Button } from "../../ui/controls/button.js";
import { EmptyState, Failure, Skeleton } from "../../ui/feedback.js";
import { Page } from "../../ui/layout/page.js";
import { SIDE_PANEL } from "../../ui/use-media.js";
import { counted } from "../../words/numbers.js";
import { FirstMessage } from "../sources/snippets.js";
import { EntryPanel } from "./entry-panel.js";
import { FilterField } from "./filter-field.js";
import type { LogEntry } from "./live-log.js";
import { LogList, type LogPosition } from "./log-list.js";
import { type LiveView, useLiveLog } from "./use-live-log.js";

export function LivePage() {
  const [, navigate] = useLocation();
  const asked = useAddressQuery().get("q") ?? "";
  // The field says what is wrong with a filter of the address. Until it is corrected, none applies.
  const filter = parseFilter(asked).ok ? asked : "";
  const view = useLiveLog(filter);
  const { isPaused, setPaused, setScrolledAway, showNew } = useHold(view);
  const { entry, select, open, close } = useSelection(view);
  const field = useRef<HTMLInputElement>(null);
  useLiveKeys(field, () => setPaused((now) => !now));
  const setFilter = useCallback(
    (next: string) => navigate(addresses.live(next), { replace: true }),
    [navigate],
  );
  return (
    <Page
      title="Live messages"
      wide
      badge={<StreamBadge view={view} isPaused={isPaused} />}
      actions={
        <Button icon={isPaused ? "play" : "pause"} onClick={() => setPaused(!isPaused)}>
          {isPaused ? "Resume" : "Pause"}
        </Button>
      }
    >
      <div className="live">
        <FilterField ref={field} value={asked} onChange={setFilter} />
        <div className={entry === undefined ? "live-body" : "live-body live-body-split"}>
          <div className="live-list">
            <ListNote view={view} filter={filter} />
            {view.log.heldCount > 0 && (
              <button type="button" className="new-pill" onClick={showNew}>
                {counted(view.log.heldCount, "new message")}
              </button>
            )}
            <LogContent
              view={view}
              filter={filter}
              selected={entry?.key}
              onSelect={select}
              onOpen={open}
              onScrolledAway={setScrolledAway}
              onClearFilter={() => setFilter("")}
            />
          </div>
          {entry && <EntryPanel key={entry.key} entry={entry} onClose={close} />}
        </div>
      </div>
    </Page>
  );
}

/** New rows wait while the page is paused or scrolled down, so that the rows in view do not move. */
function useHold({ hold, isHolding }: LiveView) {
  const [isPaused, setPaused] = useState(false);
  const [isScrolledAway, setScrolledAway] = useState(false);
  const shouldHold = isPaused || isScrolledAway;
  useEffect(() => {
    if (shouldHold !== isHolding) hold(shouldHold);
  }, [shouldHold, isHolding, hold]);
  const showNew = () => {
    setPaused(false);
    setScrolledAway(false);
    document.querySelector(".log")?.scrollTo({ top: 0 });
  };
  return { isPaused, setPaused, setScrolledAway, showNew };
}

/** The selected row. Without room for a panel, selecting a row opens its page. */
function useSelection(view: LiveView) {
  const [, navigate] = useLocation();
  const [selected, setSelected] = useState<string | undefined>();
  const open = (entry: LogEntry) => {
    if (entry.messageId !== undefined) navigate(addresses.message(entry.messageId, entry.sourceId));
  };
  const select = (entry: LogEntry) => {
    // A rejected message may have no id, and then it has no page.
    if (matchMedia(SIDE_PANEL).matches || entry.messageId === undefined) setSelected(entry.key);
    else open(entry);
  };
  return {
    entry: selected === undefined ? undefined : view.log.get(selected),
    select,
    open,
    close: () => setSelected(undefined),
  };
}

function ListNote({ view: { log, history }, filter }: { view: LiveView; filter: string }) {
  const isCounted = log.size > 0 || history === "end";
  const messages = counted(log.size, filter === "" ? "message" : "matching message");
  return (
    <p className="live-note">
      <span>
        {isCounted ? `${messages}, newest first` : "Newest first"}
        {isCounted && history !== "end" && "; scroll down to load older ones"}
      </span>
      {log.notShown > 0 && (
        <span className="field-error">
          {counted(log.notShown, "message")} arrived too fast to show. Use the filter to find{" "}
          {log.notShown === 1 ? "it" : "them"}.
        </span>
      )}
    </p>
  );
}

function StreamBadge({ view, isPaused }: { view: LiveView; isPaused: boolean }) {
  const [tone, label] = streamState(view, isPaused);
  return (
    <span className={`badge tone-${tone}`} role="status">
      <span className={label === "Live" ? "dot dot-live" : "dot"} aria-hidden="true" />
      {label}
    </span>
  );
}

function streamState({ stream }: LiveView, isPaused: boolean): readonly [tone: string, label: string] {
  if (isPaused) return ["wait", "Paused"];
  if (stream === "open") return ["good", "Live"];
  return stream === "connecting" ? ["quiet", "Connecting"] : ["bad", "Reconnecting"];
}

const LIST_KEYS = ["ArrowDown", "ArrowUp", "PageDown", "PageUp", "Home", "End"];

/** `/` focuses the filter, Space pauses. Arrow keys go to the list, wherever the focus is on the page. */
function useLiveKeys(field: RefObject<HTMLInputElement | null>, onPause: () => void): void {
  const latest = useRef(onPause);
  latest.current = onPause;
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (/^(INPUT|TEXTAREA|SELECT|BUTTON|A)$/.test(target.tagName) || target.closest('[role="dialog"]'))
        return;
      if (event.key === "/") field.current?.focus();
      else if (event.key === " ") latest.current();
      else if (LIST_KEYS.includes(event.key) && !event.defaultPrevented && !hasOwnKeys(target)) toList(event);
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, [field]);
}

/** Tabs, menus and the list itself handle arrow keys. */
function hasOwnKeys(target: HTMLElement): boolean {
  return target.closest('[role="listbox"], [role="tablist"], [role="menu"]') !== null;
}

/** Focuses the list of messages and gives it the key. */
function toList({ key }: KeyboardEvent): void {
  const list = document.querySelector<HTMLElement>('.log[role="listbox"]');
  list?.focus();
  list?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
}

/** The list of messages, or what is shown while there is none. */
function LogContent({
  view,
  filter,
  selected,
  onSelect,
  onOpen,
  onScrolledAway,
  onClearFilter,
}: {
  view: LiveView;
  filter: string;
  selected: string | undefined;
  onSelect: (entry: LogEntry) => void;
  onOpen: (entry: LogEntry) => void;
  onScrolledAway: (isAway: boolean) => void;
  onClearFilter: () => void;
}) {
  const positions = useScrollPositions();
  const sources = useSources().data;
  if (view.history === "failed" && view.log.size === 0) {
    return <Failure error={view.error} onRetry={view.readOlder} />;
  }
  if (view.log.size > 0) {
    return (
      <LogList
        view={view}
        selected={selected}
        onSelect={onSelect}
        onOpen={onOpen}
        onScrolledAway={onScrolledAway}
        position={positions.recall(`live ${filter}`) as LogPosition | undefined}
        onPosition={(position) => positions.keep(`live ${filter}`, position)}
      />
    );
  }
  if (view.history === "reading") return <Skeleton lines={8} />;
  if (filter !== "") {
    return (
      <EmptyState
        icon="search"
        title="No messages match this filter yet"
        action={<Button onClick={onClearFilter}>Clear the filter</Button>}
      >
        <p>New messages that match appear here immediately.</p>
      </EmptyState>
    );
  }
  return <FirstMessage sources={sources ?? []} />;
}
