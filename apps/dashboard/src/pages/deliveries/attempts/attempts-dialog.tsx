import type { DeliveryView } from "@sluice/control-api";
import { useQuery } from "@tanstack/react-query";
import { useApi } from "../../../api/api-context.js";
import { StateBadge } from "../../../ui/data/badge.js";
import { Time } from "../../../ui/data/time.js";
import { Failure } from "../../../ui/feedback/failure.js";
import { Skeleton } from "../../../ui/feedback/skeleton.js";
import { Dialog } from "../../../ui/layout/dialog.js";
import { visibleText } from "../../../words/visible-text.js";
import { AttemptDetails } from "./attempt-details.js";

/** All attempts of one delivery, each with request and response. */
export function AttemptsDialog({
  delivery,
  onClose,
}: {
  delivery: DeliveryView | undefined;
  onClose: () => void;
}) {
  return (
    <Dialog open={delivery !== undefined} onClose={onClose} title="Attempts, oldest first">
      {delivery && <Attempts id={delivery.id} />}
    </Dialog>
  );
}

function Attempts({ id }: { id: string }) {
  const api = useApi();
  const delivery = useQuery({ queryKey: ["deliveries", "one", id], queryFn: () => api.deliveries.get(id) });
  if (delivery.isError) return <Failure error={delivery.error} />;
  if (delivery.isPending) return <Skeleton lines={3} />;
  const { attempts, state, reason, requestBody } = delivery.data;
  return (
    <div className="stack">
      <p className="row">
        <StateBadge state={state} />
        <span className="soft">{visibleText(reason, 300)}</span>
      </p>
      {attempts.length === 0 && <p className="soft">No attempts were made.</p>}
      <ol className="stack">
        {attempts.map((attempt) => (
          <li key={`${attempt.attempt} ${attempt.url} ${attempt.at}`} className="stack-tight">
            <p className="small">
              <strong>Attempt {attempt.attempt}</strong> <span className="faint">·</span>{" "}
              <Time at={attempt.at} />
            </p>
            <AttemptDetails attempt={attempt} requestBody={requestBody} />
          </li>
        ))}
      </ol>
    </div>
  );
}
