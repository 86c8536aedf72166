import { Link } from "wouter";
import { useAudienceEngine, useNames } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { Icon } from "../../ui/icon.js";
import { counted } from "../../words/numbers.js";

/** Messages that are not counted, because evaluating them failed again and again. */
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
        <strong>{counted(messages, "message")} not counted</strong>
        <p>
          Evaluating failed again and again. The first is{" "}
          {messageId === undefined ? (
            "in a request that cannot be read,"
          ) : (
            <Link className="strong-link mono" href={addresses.message(messageId, sourceId)}>
              {messageId}
            </Link>
          )}{" "}
          of source {names.source(sourceId)}. Destinations still get these messages. The collector’s log has
          the error: report it with the message.
        </p>
      </div>
    </div>
  );
}
