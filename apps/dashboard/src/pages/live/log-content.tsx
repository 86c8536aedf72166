import { useSources } from "../../api/queries.js";
import { useScrollPositions } from "../../routing/dashboard-router.js";
import { Button } from "../../ui/controls/button.js";
import { EmptyState, Failure, Skeleton } from "../../ui/feedback.js";
import { FirstMessage } from "../sources/snippets.js";
import type { LogEntry } from "./live-log.js";
import type { LogPosition } from "./log-list.js";
import { LogList } from "./log-list.js";
import type { LiveView } from "./use-live-log.js";

/** The list of messages, or what is shown while there is none. */
export function LogContent({
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
