import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useApi, useDestinationStatus, useWhatToEnable } from "../../api/queries.js";
import { Button } from "../../ui/controls/button.js";
import { TextField } from "../../ui/controls/field.js";
import { Failure } from "../../ui/feedback.js";
import { Card } from "../../ui/layout/page.js";
import { counted } from "../../words/numbers.js";
import { OperationsCard, useStartOperation } from "./operations-card.js";

/** Retries whatever failed at a destination since a time, for any cause: counted first, then with progress. */
export function RecoverCard({ destinationId }: { destinationId: string }) {
  const api = useApi();
  const failingSince = useDestinationStatus(destinationId).data?.failingSince;
  const [typed, setTyped] = useState<string>();
  const since = typed ?? (failingSince === undefined ? "" : localMinute(failingSince));
  const input = {
    kind: "retry",
    filter: { destinationId, ...(since === "" ? {} : { from: new Date(since).toISOString() }) },
  } as const;
  const count = useMutation({ mutationFn: () => api.operations.count(input) });
  const start = useStartOperation();
  const total = count.data?.total;
  const toEnable = useWhatToEnable()(destinationId);
  // A retry could not help, and the alert above says what does.
  if (toEnable !== undefined) return <OperationsCard destinationId={destinationId} />;
  return (
    <>
      <OperationsCard destinationId={destinationId} />
      <Card
        title="Recover"
        note="Retries everything that failed or waits for a retry, of the messages received since a time"
      >
        <form
          className="row"
          onSubmit={(event) => {
            event.preventDefault();
            if (total) start.mutate(input, { onSuccess: count.reset });
            else count.mutate();
          }}
        >
          <TextField
            label="Received since"
            hideLabel
            type="datetime-local"
            value={since}
            onChange={(event) => {
              setTyped(event.target.value);
              count.reset();
            }}
          />
          {total ? (
            <Button type="submit" look="primary" icon="replay" busy={start.isPending}>
              Retry {counted(total, "message")}
            </Button>
          ) : (
            <Button type="submit" busy={count.isPending}>
              Count messages
            </Button>
          )}
          <span className="small soft" role="status">
            {total === 0 ? "Nothing failed since then." : since === "" && "Without a time: all of them."}
          </span>
        </form>
        {count.isError && <Failure error={count.error} />}
        {start.isError && <Failure error={start.error} />}
      </Card>
    </>
  );
}

/** A time as the field holds it: the browser's time zone, at the start of its minute. */
function localMinute(iso: string): string {
  const at = new Date(iso);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
