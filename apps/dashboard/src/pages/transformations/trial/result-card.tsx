import type { TransformationResult } from "@sluice/control-api";
import { CodeBlock } from "../../../ui/data/code-block.js";
import { Badge } from "../../../ui/data/facts.js";
import { Failure } from "../../../ui/feedback.js";
import { Icon } from "../../../ui/icon.js";
import { Card } from "../../../ui/layout/page.js";
import { escapeHidden, visibleText } from "../../../words/messages.js";
import type { Tone } from "../../../words/states.js";
import { Difference, messageText } from "../difference/difference-view.js";
import type { Trial } from "./use-trial.js";

type Kind = TransformationResult["result"];

/** What became of a message, in the order in which counts are shown. */
export const RESULTS: Readonly<Record<Kind, { readonly label: string; readonly tone: Tone }>> = {
  changed: { label: "Changed", tone: "accent" },
  same: { label: "Unchanged", tone: "quiet" },
  dropped: { label: "Dropped", tone: "wait" },
  failed: { label: "Failed", tone: "bad" },
};

export function ResultBadge({ result: { result, after = [] } }: { result: TransformationResult }) {
  const { label, tone } = RESULTS[result];
  return <Badge tone={tone}>{after.length > 1 ? `${after.length} messages` : label}</Badge>;
}

/** What the code as it is typed makes of the chosen message: nothing is stored or sent. */
export function ResultCard({ trial: { query, chosen, messages } }: { trial: Trial }) {
  return (
    <Card
      title="Result"
      note="Of the code as typed. Nothing is stored or sent"
      actions={chosen && query.data?.error === undefined && <ResultBadge result={chosen} />}
    >
      <div className="result" aria-live="polite" aria-busy={query.isFetching}>
        {query.isError ? (
          <Failure error={query.error} />
        ) : messages.length === 0 ? (
          <p className="soft">Choose or paste a message to see what becomes of it.</p>
        ) : query.data?.error ? (
          <CodeError {...query.data.error} />
        ) : chosen === undefined ? (
          <p className="soft">
            {query.data === undefined
              ? "Running…"
              : "This message is not stored any more, or the destination does not get it."}
          </p>
        ) : (
          <ResultDetails result={chosen} />
        )}
      </div>
    </Card>
  );
}

/** The result of one message: the difference, or why there is none, and what was logged. */
export function ResultDetails({
  result: { result, before, after = [], error, logs },
}: {
  result: TransformationResult;
}) {
  return (
    <div className="stack">
      {error && <CodeError {...error} />}
      {result === "dropped" && <p className="soft">Dropped: nothing is delivered.</p>}
      {after.map((message, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: code may give two of them the same id
        <div key={index} className="stack-tight">
          {after.length > 1 && (
            <h3>
              {index + 1} of {after.length}
            </h3>
          )}
          <Difference
            label={`Result${after.length > 1 ? ` ${index + 1}` : ""}, compared with the message`}
            before={messageText(before)}
            after={messageText(message)}
            same="Delivered as it is."
          />
        </div>
      ))}
      {result !== "changed" && <CodeBlock label="Message" code={escapeHidden(messageText(before))} wrap />}
      {logs.length > 0 && (
        <div className="stack-tight">
          <h3>Logged</h3>
          <ul className="stack-tight mono">
            {logs.map(({ level, text }, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name
              <li key={index}>
                {level !== "info" && <Badge tone={level === "error" ? "bad" : "wait"}>{level}</Badge>}{" "}
                {visibleText(text, 500)}
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}

/** An error of the code, with its place. */
export function CodeError({
  message,
  line,
  column,
}: {
  message: string;
  line?: number | undefined;
  column?: number | undefined;
}) {
  return (
    <div className="failure">
      <Icon name="alert" />
      <div className="grow">
        <strong>{visibleText(message, 500)}</strong>
        {line !== undefined && <p className="small">{placeText(line, column)}</p>}
      </div>
    </div>
  );
}

export function placeText(line: number, column?: number): string {
  return column === undefined ? `Line ${line}` : `Line ${line}, column ${column}`;
}
