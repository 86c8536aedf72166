import type { EventListView, SourcePlanView, SourceView } from "@sluice/control-api";
import { readPlan } from "@sluice/protocol";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { planQuery, useApi } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { Button, ButtonLink, Segments } from "../../ui/controls/button.js";
import { CodeBlock, CodeText } from "../../ui/data/code-block.js";
import { Time } from "../../ui/data/facts.js";
import { Failure, QueryView, Skeleton, useNotify } from "../../ui/feedback.js";
import { Confirm } from "../../ui/layout/dialog.js";
import { Card } from "../../ui/layout/page.js";
import { visibleText } from "../../words/messages.js";
import { counted } from "../../words/numbers.js";
import { PlanDialog } from "./plan-dialog.js";
import { useSourceEvents } from "./use-source-events.js";

const MODES = [
  ["report", "Report"],
  ["refuse", "Refuse"],
] as const;
const MEANING = {
  report: "Messages that violate the plan are stored, delivered and counted.",
  refuse: "Messages that violate the plan are refused. The sender is told why.",
} as const;

/** The tracking plan of a source: what happens to messages that violate it, and which did. */
export function PlanCard({ source }: { source: SourceView }) {
  const api = useApi();
  const [isEditing, setEditing] = useState(false);
  const plan = useQuery({
    ...planQuery(api, source.id),
    refetchInterval: 5_000,
  });
  return (
    <Card
      title="Tracking plan"
      note="A JSON file with the events that this source sends, and a JSON Schema of their properties"
      actions={
        plan.isSuccess && (
          <Button size="small" onClick={() => setEditing(true)}>
            {plan.data === null ? "Add a plan" : "Replace plan"}
          </Button>
        )
      }
    >
      <QueryView query={plan} skeleton={<Skeleton lines={2} />}>
        {(found) =>
          found === null ? (
            <p className="soft">None. Every valid message is accepted.</p>
          ) : (
            <PlanBody source={source} plan={found} />
          )
        }
      </QueryView>
      <PlanDialog
        sourceId={source.id}
        present={plan.data ?? undefined}
        open={isEditing}
        onClose={() => setEditing(false)}
      />
    </Card>
  );
}

function PlanBody({ source, plan }: { source: SourceView; plan: SourcePlanView }) {
  const api = useApi();
  const queries = useQueryClient();
  const notify = useNotify();
  const [isRemoving, setRemoving] = useState(false);
  const settled = { onSettled: () => queries.invalidateQueries({ queryKey: ["source-plan", source.id] }) };
  const setMode = useMutation({
    mutationFn: (mode: SourcePlanView["mode"]) => api.sources.setPlan(source.id, { plan: plan.plan, mode }),
    onSuccess: () => notify("Saved"),
    ...settled,
  });
  const remove = useMutation({
    mutationFn: () => api.sources.removePlan(source.id),
    onSuccess: () => setRemoving(false),
    ...settled,
  });
  return (
    <div className="stack">
      <dl className="facts">
        <dt>Mode</dt>
        <dd className="stack-tight">
          <div>
            <Segments
              label="What happens to messages that violate the plan"
              value={plan.mode}
              options={MODES}
              onChange={(mode) => setMode.mutate(mode)}
            />
          </div>
          <span className="small soft">{MEANING[plan.mode]}</span>
        </dd>
        <dt>Events</dt>
        <dd>{counted(namesIn(plan), "name")}</dd>
        <dt>Changed</dt>
        <dd>
          <Time at={plan.updatedAt} />
        </dd>
      </dl>
      {setMode.isError && <Failure error={setMode.error} />}
      <Violations sourceId={source.id} />
      <details>
        <summary>Show the plan</summary>
        <CodeBlock code={JSON.stringify(plan.plan, null, 2)} label="The tracking plan" />
      </details>
      <div className="row">
        <ButtonLink size="small" href={addresses.sourceEvents(source.id)}>
          All events
        </ButtonLink>
        <Button size="small" look="quiet" onClick={() => setRemoving(true)}>
          Remove plan
        </Button>
      </div>
      <Confirm
        open={isRemoving}
        title="Remove the tracking plan?"
        action="Remove plan"
        busy={remove.isPending}
        error={remove.error}
        onConfirm={() => remove.mutate()}
        onClose={() => setRemoving(false)}
      >
        Messages of {source.name} are not checked any more. Counts of violations stay.
      </Confirm>
    </div>
  );
}

/** The events that violate the plan most. */
function Violations({ sourceId }: { sourceId: string }) {
  const events = useSourceEvents(sourceId);
  return (
    <QueryView query={events} skeleton={<Skeleton lines={2} />}>
      {({ items }) => {
        const violating = mostViolating(items);
        if (violating.length === 0) return <p className="soft">No message has violated a plan.</p>;
        return (
          <ul className="lines" aria-label="Events that violated the plan, most violations first">
            {violating.slice(0, 5).map(({ type, name, violations, lastViolation }) => (
              <li key={`${type} ${name}`}>
                <span className="grow stack-tight">
                  <strong>{visibleText(name ?? type, 100)}</strong>
                  {lastViolation && (
                    <span className="small soft">
                      <CodeText text={lastViolation.message} limit={200} />
                    </span>
                  )}
                </span>
                <span className="number">{counted(violations, "violation")}</span>
              </li>
            ))}
          </ul>
        );
      }}
    </QueryView>
  );
}

function mostViolating(items: EventListView["items"]): EventListView["items"] {
  return items
    .filter(({ violations }) => violations > 0)
    .sort((one, other) => other.violations - one.violations);
}

function namesIn({ plan }: SourcePlanView): number {
  const reading = readPlan(plan);
  if (reading.kind === "invalid") return 0;
  const { track, page, screen } = reading.plan;
  return [track, page, screen].reduce((sum, names) => sum + (names?.size ?? 0), 0);
}
