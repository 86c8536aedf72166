import type { TestSendView } from "@sluice/control-api";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useApi } from "../../api/api-context.js";
import { HEALTH_KEY } from "../../api/queries.js";
import { Button } from "../../ui/controls/button.js";
import { Badge } from "../../ui/data/badge.js";
import { Time } from "../../ui/data/time.js";
import { Failure } from "../../ui/feedback/failure.js";
import { Card } from "../../ui/layout/page.js";
import { visibleText } from "../../words/visible-text.js";
import { AttemptDetails } from "../deliveries/attempts/attempt-details.js";

/** Sends one test message through the delivery path and shows the result, which stays until the next test. */
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
  const last = useQuery({
    queryKey: ["last-test", id],
    queryFn: async () => (await api.destinations.lastTest(id)).last ?? null,
  });
  const test = useMutation({
    mutationFn: () => api.destinations.test(id),
    onSuccess: (sent) => queries.setQueryData(["last-test", id], sent),
    onSettled: () => queries.invalidateQueries({ queryKey: HEALTH_KEY }),
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
      note="Sends one signed test message. It is not stored"
      actions={
        <Button icon="deliveries" size="small" busy={test.isPending} onClick={() => test.mutate()}>
          {test.isPending ? "Sending…" : "Send a test"}
        </Button>
      }
    >
      <div role="status">
        {test.isPending ? (
          <p className="soft">Waiting for the response, up to five seconds.</p>
        ) : test.isError ? (
          <Failure error={test.error} />
        ) : (
          last.data && <Sent sent={last.data} />
        )}
      </div>
    </Card>
  );
}

/** A test is sent once, so one that a real message would repeat has failed. */
function Sent({ sent: { at, state, reason, attempts, requestBody } }: { sent: TestSendView }) {
  const isDelivered = state === "delivered";
  return (
    <div className="stack-tight">
      <p className="row">
        <Badge tone={isDelivered ? "good" : "bad"}>{isDelivered ? "Delivered" : "Failed"}</Badge>
        <span className="grow">
          {visibleText(reason, 400)}
          {state === "pending" && <span className="soft"> · a real message would be retried</span>}
        </span>
        <span className="small faint">
          <Time at={at} />
        </span>
      </p>
      {attempts.map((attempt) => (
        <AttemptDetails
          key={`${attempt.url} ${attempt.attempt}`}
          attempt={attempt}
          requestBody={requestBody}
        />
      ))}
    </div>
  );
}
