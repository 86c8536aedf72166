import { useCallback, useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import { useSources } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { useAddressQuery, useScrollPositions } from "../../routing/dashboard-router.js";
import { Button } from "../../ui/controls/button.js";
import { EmptyState } from "../../ui/feedback/empty-state.js";
import { Failure } from "../../ui/feedback/failure.js";
import { Skeleton } from "../../ui/feedback/skeleton.js";
import { Page } from "../../ui/layout/page.js";
import { SIDE_PANEL } from "../../ui/use-media.js";
import { count, counted } from "../../words/numbers.js";
import { FirstMessage } from "../sources/first-message.js";
import { EntryPanel } from "./entry-panel.js";
import { FilterField } from "./filter-field.js";
import type { LogEntry } from "./live-log.js";
import { LogList, type LogPlace } from "./log-list.js";
import { type LiveView, useLiveLog } from "./use-live-log.js";

export function LivePage() {
  const [, navigate] = useLocation();
  const query = useAddressQuery();
  const places = useScrollPositions();
  const filter = query.get("q") ?? "";
  const view = useLiveLog(filter);
  const [isPaused, setPaused] = useState(false);
  const [isAway, setAway] = useState(false);
  const [selected, setSelected] = useState<string | undefined>();
  const field = useRef<HTMLInputElement>(null);
  const { hold, isHolding } = view;
  const shouldHold = isPaused || isAway;
  useEffect(() => {
    if (shouldHold !== isHolding) hold(shouldHold);
  }, [shouldHold, isHolding, hold]);
  useLiveKeys(field, () => setPaused((now) => !now));

  const setFilter = useCallback(
    (next: string) => navigate(addresses.live(next), { replace: true }),
    [navigate],
  );
  const open = (entry: LogEntry) => {
    if (entry.messageId !== undefined) navigate(addresses.message(entry.messageId, entry.sourceId));
  };
  const select = (entry: LogEntry) => {
    // A refused message may have no id, and so no page of its own.
    if (matchMedia(SIDE_PANEL).matches || entry.messageId === undefined) setSelected(entry.key);
    else open(entry);
  };
  const entry = selected === undefined ? undefined : view.log.get(selected);
  const showNew = () => {
    setPaused(false);
    setAway(false);
    document.querySelector(".log")?.scrollTo({ top: 0 });
  };
  return (
    <Page
      title="Live messages"
      wide
      badge={<StreamBadge view={view} isPaused={isPaused} />}
      actions={
        <Button icon={isPaused ? "play" : "pause"} onClick={() => setPaused(!isPaused)}>
          {isPaused ? "Go on" : "Pause"}
        </Button>
      }
    >
      <div className="live">
        <FilterField ref={field} value={filter} onChange={setFilter} />
        <div className={entry === undefined ? "live-body" : "live-body live-body-split"}>
          <div className="live-list">
            <p className="live-note">
              <span>
                {filter === ""
                  ? `${counted(view.log.size, "message")}, newest first, every one that came`
                  : `${counted(view.log.size, "message")} that ${view.log.size === 1 ? "matches" : "match"}, newest first`}
                {view.history === "end" ? ", all that are kept" : "; older ones load as you scroll"}
              </span>
              {view.log.notShown > 0 && (
                <span className="field-error">
                  {count(view.log.notShown)} more came faster than this page could show; a filter or a search
                  finds them
                </span>
              )}
            </p>
            {view.log.heldCount > 0 && (
              <button type="button" className="new-pill" onClick={showNew}>
                {counted(view.log.heldCount, "new message")}
              </button>
            )}
            <LogContent
              view={view}
              filter={filter}
              selected={selected}
              onSelect={select}
              onOpen={open}
              onAway={setAway}
              onClearFilter={() => setFilter("")}
              place={places.recall(`live ${filter}`) as LogPlace | undefined}
              onPlace={(place) => places.keep(`live ${filter}`, place)}
            />
          </div>
          {entry && <EntryPanel key={entry.key} entry={entry} onClose={() => setSelected(undefined)} />}
        </div>
      </div>
    </Page>
  );
}

function LogContent({
  view,
  filter,
  selected,
  onSelect,
  onOpen,
  onAway,
  onClearFilter,
  place,
  onPlace,
}: {
  view: LiveView;
  filter: string;
  selected: string | undefined;
  onSelect: (entry: LogEntry) => void;
  onOpen: (entry: LogEntry) => void;
  onAway: (isAway: boolean) => void;
  onClearFilter: () => void;
  place: LogPlace | undefined;
  onPlace: (place: LogPlace | undefined) => void;
}) {
  const sources = useSources().data;
  if (view.history === "failed" && view.log.size === 0) {
    return <Failure error={view.error} onRetry={view.readOlder} />;
  }
  if (view.log.size > 0) {
    return (
      <LogList
        log={view.log}
        version={view.version}
        selected={selected}
        canReadOlder={view.history === "more"}
        onSelect={onSelect}
        onOpen={onOpen}
        onReadOlder={view.readOlder}
        onScrolledAway={onAway}
        place={place}
        onPlace={onPlace}
      />
    );
  }
  if (view.history === "reading") return <Skeleton lines={8} />;
  if (filter !== "") {
    return (
      <EmptyState
        icon="search"
        title="Nothing matches this filter yet"
        action={<Button onClick={onClearFilter}>Clear the filter</Button>}
      >
        <p>Messages that match appear here the moment they come.</p>
      </EmptyState>
    );
  }
  return <FirstMessage sources={sources ?? []} />;
}

function StreamBadge({ view, isPaused }: { view: LiveView; isPaused: boolean }) {
  const [tone, label] = isPaused
    ? (["wait", "Paused"] as const)
    : view.stream === "open"
      ? (["good", "Live"] as const)
      : view.stream === "connecting"
        ? (["quiet", "Connecting"] as const)
        : (["bad", "Reconnecting"] as const);
  return (
    <span className={`badge tone-${tone}`} role="status">
      <span className={label === "Live" ? "dot dot-live" : "dot"} aria-hidden="true" />
      {label}
    </span>
  );
}

/** `/` goes to the filter, the space bar pauses. */
function useLiveKeys(field: React.RefObject<HTMLInputElement | null>, onPause: () => void): void {
  const latest = useRef(onPause);
  latest.current = onPause;
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (/^(INPUT|TEXTAREA|SELECT|BUTTON|A)$/.test(target.tagName) || target.closest('[role="dialog"]'))
        return;
      if (event.key === "/") field.current?.focus();
      else if (event.key === " ") latest.current();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, [field]);
}
