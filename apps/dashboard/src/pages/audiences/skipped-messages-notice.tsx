import { Link } from "wouter";
import { useAudienceEngine, useNames } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { Icon } from "../../ui/icon.js";
import { counted } from "../../words/numbers.js";

/** Messages that audiences and computed traits skip because evaluating them failed repeatedly. */
export function SkippedMessagesNotice() {
  const { data } = useAudienceEngine();
  const names = useNames();
  const [first] = data?.setAside ?? [];
  if (data === undefined || first === undefined) return null;
  const { messageId, sourceId } = first;
  const messages = data.setAside.reduce((sum, one) => sum + one.messages, 0);
  return (
    <div className="failure" role="alert">
      <Icon name="alert" />
      <div className="grow">
        <strong>{counted(messages, "message")} skipped</strong>
        <p>
          Evaluation failed repeatedly, so audiences and computed traits skip{" "}
          {messages === 1 ? "this message" : "these messages"}. First:{" "}
          {messageId === undefined ? (
            "an unreadable request"
          ) : (
            <Link className="strong-link mono" href={addresses.message(messageId, sourceId)}>
              {messageId}
            </Link>
          )}{" "}
          from source {names.source(sourceId)}. Destinations still get {messages === 1 ? "it" : "them"}.
          Please report the error in the collector's log, with the message.
        </p>
      </div>
    </div>
  );
}
