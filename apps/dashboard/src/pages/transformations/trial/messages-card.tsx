import type { TransformationResult } from "@sluice/control-api";
import type { JsonObject } from "@sluice/protocol";
import { Button } from "../../../ui/controls/button.js";
import { AreaField, SelectField } from "../../../ui/controls/field.js";
import { KindTag } from "../../../ui/data/facts.js";
import { QueryView, Skeleton } from "../../../ui/feedback.js";
import { Card } from "../../../ui/layout/page.js";
import { messageTitle, messageUser } from "../../../words/messages.js";
import { useOrigins } from "../origins.js";
import { ResultBadge } from "./result-card.js";
import { parsedMessage, type Trial } from "./use-trial.js";

const EXAMPLE = {
  type: "track",
  messageId: "example-1",
  userId: "user-1",
  event: "Order Completed",
  properties: { total: 42.5, email: "ada@example.com" },
};

/** The messages that the code is tried on: the newest of a source or a destination, or one that is pasted. */
export function MessagesCard({ trial }: { trial: Trial }) {
  const { input, setInput, newest, messages } = trial;
  const options = [...useOrigins(), ["paste", "Paste a message"]] as const;
  return (
    <Card
      title="Messages"
      actions={
        <>
          <SelectField
            label="Messages to try the code on"
            hideLabel
            options={options}
            value={input.kind === "pasted" ? "paste" : input.of}
            onChange={({ target: { value } }) =>
              setInput(
                value === "paste"
                  ? { kind: "pasted", text: JSON.stringify(messages[trial.chosenIndex] ?? EXAMPLE, null, 2) }
                  : { kind: "newest", of: value },
              )
            }
          />
          {input.kind === "newest" && (
            <Button busy={newest.isFetching} onClick={() => void newest.refetch()}>
              Reload
            </Button>
          )}
        </>
      }
    >
      <div className="trial">
        {input.kind === "pasted" ? (
          <AreaField
            label="Message as JSON"
            hideLabel
            className="mono plan-text"
            value={input.text}
            error={parsedMessage(input.text) === undefined ? "This is not a JSON object." : undefined}
            onChange={({ target }) => setInput({ kind: "pasted", text: target.value })}
          />
        ) : (
          <QueryView query={newest} skeleton={<Skeleton lines={3} />}>
            {(items) =>
              items.length === 0 ? (
                <p className="soft">
                  No messages yet. Choose “Paste a message” to try the code on an example.
                </p>
              ) : (
                <MessageList messages={messages} trial={trial} />
              )
            }
          </QueryView>
        )}
      </div>
    </Card>
  );
}

function MessageList({ messages, trial }: { messages: readonly JsonObject[]; trial: Trial }) {
  return (
    <ul className="trial-list" aria-label="Messages, newest first">
      {messages.map((message, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the list does not change while it is shown
        <li key={index}>
          <MessageRow
            message={message}
            result={trial.resultOf(index)}
            isChosen={index === trial.chosenIndex}
            onChoose={() => trial.choose(index)}
          />
        </li>
      ))}
    </ul>
  );
}

function MessageRow({
  message,
  result,
  isChosen,
  onChoose,
}: {
  message: JsonObject;
  result: TransformationResult | undefined;
  isChosen: boolean;
  onChoose: () => void;
}) {
  return (
    <button
      type="button"
      className="trial-row"
      aria-current={isChosen ? "true" : undefined}
      onClick={onChoose}
    >
      <KindTag kind={String(message.type)} />
      <span className="trial-title">{messageTitle(message)}</span>
      <span className="trial-user small faint mono">{messageUser(message)}</span>
      {result && <ResultBadge result={result} />}
    </button>
  );
}
