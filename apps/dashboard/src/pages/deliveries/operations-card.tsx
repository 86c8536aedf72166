import type { OperationView } from "@sluice/control-api";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Button } from "../../ui/controls/button.js";
import { Badge } from "../../ui/data/badge.js";
import { Time } from "../../ui/data/time.js";
import { Failure } from "../../ui/feedback.js";
import { Card } from "../../ui/layout/page.js";
import { count, perSecond } from "../../words/numbers.js";
import type { Tone } from "../../words/states.js";
import { visibleText } from "../../words/visible-text.js";
import {
  isRunning,
  operationResult,
  operationTitle,
  useCancelOperation,
  useRecentOperations,
} from "./use-operations.js";

const STATES: Readonly<Record<OperationView["state"], readonly [label: string, tone: Tone]>> = {
  selecting: ["Running", "wait"],
  running: ["Running", "wait"],
  finished: ["Finished", "good"],
  cancelled: ["Cancelled", "quiet"],
  failed: ["Failed", "bad"],
};

/** Bulk operations at work, with progress, and those that ended recently, with their results; of all destinations, or of one. */
export function OperationsCard({ destinationId }: { destinationId?: string }) {
  const operations = useRecentOperations().data ?? [];
  const queries = useQueryClient();
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const done = operations.reduce((sum, one) => sum + one.done, 0);
  useEffect(() => {
    if (done === 0) return;
    for (const queryKey of [["delivery-groups"], ["deliveries"]])
      void queries.invalidateQueries({ queryKey });
  }, [done, queries]);
  const shown = operations.filter(
    ({ id, filter }) =>
      !hidden.has(id) && (destinationId === undefined || filter?.destinationId === destinationId),
  );
  if (shown.length === 0) return null;
  return (
    <Card title="Operations" note="Running or finished in the last 10 minutes, newest first" flush>
      <ul className="operations">
        {shown.map((operation) => (
          <OperationRow
            key={operation.id}
            operation={operation}
            onHide={() => setHidden(new Set([...hidden, operation.id]))}
          />
        ))}
      </ul>
    </Card>
  );
}

function OperationRow({ operation, onHide }: { operation: OperationView; onHide: () => void }) {
  const cancel = useCancelOperation();
  const { id, state, total, done, ratePerSecond, createdAt, createdBy, error } = operation;
  const [label, tone] = STATES[state];
  const title = operationTitle(operation);
  return (
    <li className="operation">
      <div className="row">
        <Badge tone={tone}>{label}</Badge>
        <strong className="grow">{title}</strong>
        {isRunning(operation) ? (
          <Button size="small" busy={cancel.isPending} onClick={() => cancel.mutate(id)}>
            Stop
          </Button>
        ) : (
          <Button size="small" look="quiet" onClick={onHide}>
            Hide<span className="visually-hidden"> {title}</span>
          </Button>
        )}
      </div>
      {isRunning(operation) && (
        <progress className="progress" aria-label={title} max={Math.max(1, total)} value={done} />
      )}
      <p className="small soft" role={isRunning(operation) ? undefined : "status"}>
        <span className="number">
          {count(done)} of {count(total)}
        </span>{" "}
        · {operationResult(operation)}
        {isRunning(operation) && ` · ${perSecond(ratePerSecond)}`}
        <span className="faint">
          {" "}
          · by {visibleText(createdBy.tokenName, 60)}, <Time at={createdAt} />
        </span>
      </p>
      {error && <p className="small">{visibleText(error, 300)}</p>}
      {cancel.isError && <Failure error={cancel.error} />}
    </li>
  );
}
