import type { OperationInput, OperationView } from "@sluice/control-api";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useApi } from "../../api/queries.js";
import { Button } from "../../ui/controls/button.js";
import { Badge, Time } from "../../ui/data/facts.js";
import { Failure } from "../../ui/feedback.js";
import { Card } from "../../ui/layout/page.js";
import { visibleText } from "../../words/messages.js";
import { count, counted, perSecond } from "../../words/numbers.js";
import type { Tone } from "../../words/states.js";

const VERBS = { retry: "Retry", replay: "Replay", discard: "Discard" } as const;

/** `Retry of 1,204 deliveries`. */
function operationTitle({ kind, state, total }: OperationView): string {
  if (state === "selecting") return `${VERBS[kind]}: finding the deliveries`;
  return `${VERBS[kind]} of ${counted(total, "delivery", "deliveries")}`;
}

export function isRunning({ state }: OperationView): boolean {
  return state === "selecting" || state === "running";
}

/** `1,100 delivered, 4 failed again (HTTP 503), 100 skipped`. */
function operationResult({ results, causes, waiting }: OperationView): string {
  const why = causes.map(({ title }) => title).join(", ");
  const parts = [
    [results.delivered, "delivered"],
    [results.discarded, "discarded"],
    [results.failed, `failed again${why === "" ? "" : ` (${why})`}`],
    [results.skipped, "skipped"],
    [waiting, "waiting for a result"],
  ] as const;
  const shown = parts.flatMap(([number, words]) => (number === 0 ? [] : [`${count(number)} ${words}`]));
  return shown.length === 0 ? "No results yet" : shown.join(", ");
}

/** Operations that are shown on the page: those at work, and those that ended in the last minutes. */
const SHOWN_FOR_MS = 10 * 60_000;
const RUNNING_MS = 1_000;
const IDLE_MS = 10_000;

export function useRecentOperations() {
  const api = useApi();
  return useQuery({
    queryKey: ["operations"],
    queryFn: async () => (await api.operations.list({ limit: 10 })).items,
    refetchInterval: (query) => (query.state.data?.some(isRunning) ? RUNNING_MS : IDLE_MS),
    select: (operations: readonly OperationView[]) =>
      operations.filter(
        (one) => isRunning(one) || Date.now() - Date.parse(one.finishedAt ?? one.createdAt) < SHOWN_FOR_MS,
      ),
  });
}

export function useStartOperation() {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (input: Omit<OperationInput, "dryRun">) => api.operations.create(input),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["operations"] }),
  });
}

export function useCancelOperation() {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => api.operations.cancel(id),
    onSettled: () => queries.invalidateQueries({ queryKey: ["operations"] }),
  });
}

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
