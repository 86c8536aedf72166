import type { TestSendView } from "@sluice/control-api";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { HEALTH_KEY, useApi } from "../../api/queries.js";
import { Button } from "../../ui/controls/button.js";
import { Badge, Time } from "../../ui/data/facts.js";
import { Failure } from "../../ui/feedback.js";
import { Card } from "../../ui/layout/page.js";
import { visibleText } from "../../words/messages.js";
import { AttemptDetails } from "../deliveries/attempts.js";

/** Sends test messages through the delivery path. The result of the last one is known until the next. */
export function useTestSend({
  id,
  startNow,
}: {
  id: string;
  /** Sends one when the page opens: after connecting. */
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
  return { test, last: last.data ?? undefined };
}

type TestSend = ReturnType<typeof useTestSend>;

export function TestButton({ test }: Pick<TestSend, "test">) {
  return (
    <Button
      icon="deliveries"
      busy={test.isPending}
      title="One signed message, which is not stored"
      onClick={() => test.mutate()}
    >
      {test.isPending ? "Sending…" : "Send a test"}
    </Button>
  );
}

/** What came of the last test. Nothing before the first one. */
export function TestResult({ test, last }: TestSend) {
  if (test.isIdle && last === undefined) return null;
  return (
    <Card title="Test" note="The last test message. It is not stored">
      <div role="status">
        {test.isPending ? (
          <p className="soft">Waiting for the response, up to five seconds.</p>
        ) : test.isError ? (
          <Failure error={test.error} />
        ) : (
          last && <Sent sent={last} />
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
