import { Link } from "wouter";
import { useAudienceEngine, useAudiences, useNames } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { ButtonLink } from "../../ui/controls/button.js";
import { Icon } from "../../ui/icon.js";
import { count, counted } from "../../words/numbers.js";
import { AUDIENCES } from "../definitions/definition-kind.js";
import { DefinitionList } from "../definitions/definition-list.js";

export function AudiencesPage() {
  return (
    <DefinitionList
      kind={AUDIENCES}
      lead="Groups of users who meet your conditions. Destinations get every change within a second."
      query={useAudiences()}
      add={(look) => (
        <ButtonLink look={look} icon="plus" href={addresses.newAudience()}>
          New audience
        </ButtonLink>
      )}
      example="For example: users on the pro plan with at least three orders in the last 30 days. You see the members while you build it."
      column={{ head: "Members", align: "end", cell: (one) => count(one.size) }}
    >
      <SkippedMessagesNotice />
    </DefinitionList>
  );
}

/** Messages that audiences and computed traits skip because evaluating them failed repeatedly. */
function SkippedMessagesNotice() {
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
