import type { DeletionReceipt, DeletionView } from "@sluice/control-api";
import { CopyButton } from "../../ui/controls/button.js";
import { Dialog } from "../../ui/layout/dialog.js";
import { visibleText } from "../../words/messages.js";
import { counted } from "../../words/numbers.js";
import { localTime } from "../../words/times.js";
import { DeleteMessages } from "./delete-messages.js";

/** What was removed, where and when. */
export function ReceiptDialog({
  deletion,
  onClose,
}: {
  deletion: DeletionView | undefined;
  onClose: () => void;
}) {
  return (
    <Dialog open={deletion !== undefined} onClose={onClose} title="Receipt">
      {deletion?.receipt === undefined ? (
        <p className="soft">No receipt yet: the first step of the deletion is not finished.</p>
      ) : (
        <Receipt deletion={deletion} receipt={deletion.receipt} />
      )}
    </Dialog>
  );
}

function Receipt({ deletion, receipt }: { deletion: DeletionView; receipt: DeletionReceipt }) {
  return (
    <div className="stack">
      <dl className="facts">
        <dt>Requested</dt>
        <dd>{localTime(deletion.createdAt)}</dd>
        <dt>No longer readable</dt>
        <dd>{momentOf(receipt.purgedAt)}</dd>
        <dt>Erased from disk</dt>
        <dd>{momentOf(receipt.erasedAt)}</dd>
        <dt>Delete messages erased</dt>
        <dd>{momentOf(receipt.tracesErasedAt)}</dd>
        {receipt.gaveUpAt && (
          <>
            <dt>Finished without notifying</dt>
            <dd>{localTime(receipt.gaveUpAt)}</dd>
          </>
        )}
      </dl>
      <section className="stack-tight">
        <h3>Removed</h3>
        <p className="field-hint">
          Each user is shown as a keyed hash (HMAC-SHA-256) of the id, because ids are personal data.
        </p>
        <ul className="receipt">
          {receipt.users.map((user) => (
            <li key={user.idHmac}>
              <code className="receipt-id">{user.idHmac}</code>
              <span className="small soft">
                {counted(user.messages, "message")}, {counted(user.attempts, "attempt")},{" "}
                {counted(user.retries, "pending retry", "pending retries")},{" "}
                {user.profile ? "the profile" : "no profile"},{" "}
                {counted(user.audienceMemberships, "membership")},{" "}
                {counted(user.anonymousIds, "anonymous id")}
                {user.aliasesLeft > 0 && `; ${counted(user.aliasesLeft, "alias", "aliases")} kept`}
              </span>
            </li>
          ))}
        </ul>
      </section>
      {receipt.destinations && (
        <section className="stack-tight">
          <h3>Destinations</h3>
          <ul className="receipt">
            {receipt.destinations.map(({ destinationId, message }) => (
              <li key={destinationId}>{visibleText(message, 400)}</li>
            ))}
          </ul>
        </section>
      )}
      <DeleteMessages deletion={deletion} receipt={receipt} />
      <div>
        <CopyButton withText label="Copy as JSON" text={JSON.stringify(deletion, null, 2)} />
      </div>
    </div>
  );
}

function momentOf(at: string | undefined): string {
  return at === undefined ? "not yet" : localTime(at);
}
