import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useApi } from "../../api/api-context.js";
import { Button } from "../../ui/controls/button.js";
import { StateBadge } from "../../ui/data/badge.js";
import { Failure } from "../../ui/feedback/failure.js";
import { Card } from "../../ui/layout/page.js";
import { visibleText } from "../../words/visible-text.js";
import { AttemptDetails } from "../message/timeline-view.js";

/** Sends one message through the real path and shows what became of it. `atOnce` after connecting. */
export function TestSend({ id, atOnce }: { id: string; atOnce: boolean }) {
  const api = useApi();
  const queries = useQueryClient();
  const test = useMutation({
    mutationFn: () => api.destinations.test(id),
    onSettled: () => queries.invalidateQueries({ queryKey: ["destination-status", id] }),
  });
  const hasBegun = useRef(false);
  const { mutate } = test;
  useEffect(() => {
    if (!atOnce || hasBegun.current) return;
    hasBegun.current = true;
    mutate();
  }, [atOnce, mutate]);
  return (
    <Card
      title="Test"
      note="One message through the real path: signed and sent like any other, but kept in no log"
      actions={
        <Button icon="deliveries" size="small" busy={test.isPending} onClick={() => test.mutate()}>
          {test.isPending ? "Sending" : "Send a test"}
        </Button>
      }
    >
      <div role="status">
        {test.isIdle && <p className="soft">Nothing sent yet.</p>}
        {test.isPending && <p className="soft">Waiting for the answer, five seconds at most.</p>}
        {test.isError && <Failure error={test.error} />}
        {test.isSuccess && (
          <div className="stack-tight">
            <p className="row">
              <StateBadge state={test.data.state} />
              <span className="grow">{visibleText(test.data.reason, 400)}</span>
            </p>
            {test.data.attempts.map((attempt) => (
              <AttemptDetails key={`${attempt.url} ${attempt.attempt}`} attempt={attempt} />
            ))}
          </div>
        )}
      </div>
    </Card>
  );
}
