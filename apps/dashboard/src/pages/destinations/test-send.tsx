import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useApi } from "../../api/api-context.js";
import { Button } from "../../ui/controls/button.js";
import { StateBadge } from "../../ui/data/badge.js";
import { Failure } from "../../ui/feedback/failure.js";
import { Card } from "../../ui/layout/page.js";
import { visibleText } from "../../words/visible-text.js";
import { AttemptDetails } from "../deliveries/attempt-details.js";

/** Sends one test message through the delivery path and shows the result. */
export function TestSend({
  id,
  startNow,
}: {
  id: string;
  /** Sends it when the page opens: after connecting. */
  startNow: boolean;
}) {
  const api = useApi();
  const queries = useQueryClient();
  const test = useMutation({
    mutationFn: () => api.destinations.test(id),
    onSettled: () => queries.invalidateQueries({ queryKey: ["destination-status", id] }),
  });
  const hasStarted = useRef(false);
  const { mutate } = test;
  useEffect(() => {
    if (!startNow || hasStarted.current) return;
    hasStarted.current = true;
    mutate();
  }, [startNow, mutate]);
  return (
    <Card
      title="Test"
      note="Sends one message, signed like any other. It is not stored"
      actions={
        <Button icon="deliveries" size="small" busy={test.isPending} onClick={() => test.mutate()}>
          {test.isPending ? "Sending…" : "Send a test"}
        </Button>
      }
    >
      <div role="status">
        {test.isIdle && <p className="soft">No test sent yet.</p>}
        {test.isPending && <p className="soft">Waiting for the response, up to five seconds.</p>}
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
