import type { DeletionReceipt, DeletionView } from "@sluice/control-api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { useApi, useNames } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { Button } from "../../ui/controls/button.js";
import { Badge } from "../../ui/data/facts.js";
import { Failure } from "../../ui/feedback.js";
import { Confirm } from "../../ui/layout/dialog.js";
import { visibleText } from "../../words/messages.js";
import { counted } from "../../words/numbers.js";
import type { Tone } from "../../words/states.js";

type DeleteMessage = DeletionReceipt["deleteMessages"][number];
type DeleteDelivery = DeleteMessage["deliveries"][number];

const STATES: Readonly<Record<DeleteDelivery["state"], { readonly label: string; readonly tone: Tone }>> = {
  sent: { label: "Delivered", tone: "good" },
  pending: { label: "Pending", tone: "wait" },
  failed: { label: "Failed", tone: "bad" },
  not_sent: { label: "Not sent", tone: "quiet" },
};

/** The delete messages of a deletion: how each delivery stands, and what to do about those that failed. */
export function DeleteMessages({ deletion, receipt }: { deletion: DeletionView; receipt: DeletionReceipt }) {
  const { deleteMessages, erasedAt } = receipt;
  const isErased = receipt.tracesErasedAt !== undefined;
  return (
    <section className="stack-tight">
      <h3>Delete messages</h3>
      {deleteMessages.length === 0 ? (
        <p className="soft">
          {erasedAt === undefined ? "None yet." : "None. No source of these users has an enabled webhook."}
        </p>
      ) : (
        <ul className="lines">
          {deleteMessages.flatMap((message) =>
            message.deliveries.map((delivery) => (
              <DeliveryLine
                key={`${message.messageId} ${delivery.destinationId}`}
                message={message}
                delivery={delivery}
                isErased={isErased}
              />
            )),
          )}
        </ul>
      )}
      {deletion.status === "undelivered" && <Undelivered deletion={deletion} />}
    </section>
  );
}

function DeliveryLine({
  message: { messageId, sourceId },
  delivery,
  isErased,
}: {
  message: DeleteMessage;
  delivery: DeleteDelivery;
  isErased: boolean;
}) {
  const names = useNames();
  const { state, destinationId, attempts, error } = delivery;
  const name = names.destination(destinationId);
  const { label, tone } = STATES[state];
  return (
    <li>
      <span className="grow">
        {isErased ? name : <Link href={addresses.message(messageId, sourceId)}>{name}</Link>}
        <span className="small soft">
          {" "}
          from {names.source(sourceId)}
          {attempts > 0 && ` · ${counted(attempts, "attempt")}`}
          {error && ` · ${visibleText(error, 120)}`}
        </span>
      </span>
      <Badge tone={tone}>{label}</Badge>
    </li>
  );
}

/** Retry, or finish without notifying. The list of deletions is read again at once, so the states follow. */
function Undelivered({ deletion: { id } }: { deletion: DeletionView }) {
  const api = useApi();
  const queries = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const onSettled = () => queries.invalidateQueries({ queryKey: ["deletions"] });
  const retry = useMutation({ mutationFn: () => api.deletions.retry(id), onSettled });
  const giveUp = useMutation({
    mutationFn: () => api.deletions.giveUp(id),
    onSuccess: () => setAsking(false),
    onSettled,
  });
  return (
    <>
      <p className="soft">
        The data is deleted here, but some destinations did not get the delete message. It stays stored, with
        the user's id, until it is delivered or you finish the deletion without it.
      </p>
      <div className="row">
        <Button look="primary" size="small" busy={retry.isPending} onClick={() => retry.mutate()}>
          Retry
        </Button>
        <Button
          size="small"
          onClick={() => {
            giveUp.reset();
            setAsking(true);
          }}
        >
          Finish without notifying
        </Button>
      </div>
      {retry.error && <Failure error={retry.error} />}
      <Confirm
        open={isAsking}
        title="Finish without notifying?"
        action="Finish"
        busy={giveUp.isPending}
        error={giveUp.error}
        onConfirm={() => giveUp.mutate()}
        onClose={() => setAsking(false)}
      >
        Destinations that did not get the delete message keep the user's data until you delete it there. The
        delete message is erased, so it cannot be sent again.
      </Confirm>
    </>
  );
}
