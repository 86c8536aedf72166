import { useAudienceEngine } from "../../api/queries.js";
import { Icon } from "../../ui/icon.js";
import { counted } from "../../words/numbers.js";

/** In a cluster of several partitions: those whose messages cannot be evaluated now. */
export function WaitingPartitionsNotice() {
  const { data } = useAudienceEngine();
  const waiting = (data?.partitions ?? []).filter(({ isReadable }) => !isReadable);
  if (waiting.length === 0) return null;
  const behind = waiting.reduce((sum, one) => sum + one.behind, 0);
  return (
    <div className="failure" role="alert">
      <Icon name="alert" />
      <div className="grow">
        <strong>
          {waiting.length === 1 ? "Partition" : "Partitions"}{" "}
          {waiting.map(({ partition }) => partition).join(", ")} cannot be read now
        </strong>
        <p>
          The owner of partition 0 is being brought up to date. Until then{" "}
          {behind === 0 ? "new messages" : counted(behind, "message")} of{" "}
          {waiting.length === 1 ? "this partition" : "these partitions"} wait, no time window ends, and
          scheduled syncs wait.
        </p>
      </div>
    </div>
  );
}
