import type { TransformationDryRunView, TransformationResult } from "@sluice/control-api";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Link } from "wouter";
import { useApi } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { Button } from "../../ui/controls/button.js";
import { SelectField, TextField } from "../../ui/controls/field.js";
import { Table } from "../../ui/data/table.js";
import { Failure } from "../../ui/feedback.js";
import { Card } from "../../ui/layout/page.js";
import { messageTitle, visibleText } from "../../words/messages.js";
import { count, counted, duration } from "../../words/numbers.js";
import { ANY_SOURCE, idIn, useOrigins } from "./origins.js";
import { CodeError, placeText, RESULTS, ResultBadge, ResultDetails } from "./trial/result-card.js";
import { isNewVersion, type TransformationDraft } from "./use-save.js";

const DEFAULT_MESSAGES = 1_000;
const MOST_MESSAGES = 10_000;

/** Runs the code over the newest stored messages, and counts what it would change, drop or fail on. */
export function DryRunCard({ id, draft }: { id: string | undefined; draft: TransformationDraft }) {
  const api = useApi();
  const [of, setOf] = useState(ANY_SOURCE);
  const [number, setNumber] = useState(String(DEFAULT_MESSAGES));
  const messages = Number(number);
  const isNumber = Number.isInteger(messages) && messages >= 1 && messages <= MOST_MESSAGES;
  const run = useMutation({
    mutationFn: async ({ code, language }: TransformationDraft) => {
      const view = await api.transformations.dryRun({
        ...(id === undefined ? {} : { id }),
        code,
        language,
        messages,
        ...idIn(of),
      });
      return { view, of: { code, language } };
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isNumber) run.mutate(draft);
  };
  return (
    <Card title="Dry run" note="Counts what the code would do to stored messages. Nothing is stored or sent">
      <div className="stack">
        <form className="dry-run" onSubmit={submit} noValidate>
          <TextField
            label="Newest messages"
            type="number"
            min={1}
            max={MOST_MESSAGES}
            value={number}
            error={isNumber ? undefined : `Enter 1 to ${count(MOST_MESSAGES)}.`}
            onChange={({ target }) => setNumber(target.value)}
          />
          <SelectField
            label="Of"
            options={useOrigins()}
            value={of}
            onChange={({ target }) => setOf(target.value)}
          />
          <Button type="submit" busy={run.isPending} disabled={draft.code.trim() === ""}>
            Run
          </Button>
        </form>
        {run.isError && <Failure error={run.error} />}
        {run.data && <DryRunResult view={run.data.view} isOld={isNewVersion(draft, run.data.of)} />}
      </div>
    </Card>
  );
}

function DryRunResult({ view, isOld }: { view: TransformationDryRunView; isOld: boolean }) {
  const kinds = Object.entries(RESULTS) as [
    TransformationResult["result"],
    { label: string; tone: string },
  ][];
  if (view.error) return <CodeError {...view.error} />;
  return (
    <div className="stack" role="status">
      <p>
        {counted(view.messages, "message")} in {duration(view.tookMs)}
        {view.endedEarly && ". It ended early: older messages are not counted"}
        {isOld && <span className="soft">. The code has changed since</span>}
      </p>
      <dl className="dry-run-counts">
        {kinds.map(([kind, { label, tone }]) => (
          <div key={kind} className={view[kind] === 0 ? "tone-quiet" : `tone-${tone}`}>
            <dt>{label}</dt>
            <dd className="number">{count(view[kind])}</dd>
          </div>
        ))}
      </dl>
      {view.causes.length > 0 && <Causes causes={view.causes} />}
      {view.examples.length > 0 && (
        <div className="stack-tight">
          <h3>Newest examples</h3>
          {view.examples.map((example) => (
            <Example key={example.messageId} example={example} />
          ))}
        </div>
      )}
    </div>
  );
}

function Causes({ causes }: Pick<TransformationDryRunView, "causes">) {
  return (
    <Table
      label="Why messages failed, most frequent first"
      items={causes}
      keyOf={({ code, message, line, column }) => `${code} ${line} ${column} ${message}`}
      columns={[
        {
          head: "Cause",
          lead: true,
          cell: ({ code, message }) => <span title={code}>{visibleText(message, 300)}</span>,
        },
        {
          head: "Place",
          fit: true,
          cell: ({ line, column }) => (line === undefined ? "–" : placeText(line, column)),
        },
        { head: "Messages", align: "end", cell: (cause) => count(cause.count) },
        {
          head: "Examples",
          cell: ({ messageIds }) => (
            <span className="cause-examples">
              {messageIds.map((messageId) => (
                <Link key={messageId} className="list-link mono" href={addresses.message(messageId)}>
                  {visibleText(messageId, 14)}
                </Link>
              ))}
            </span>
          ),
        },
      ]}
    />
  );
}

function Example({ example }: { example: TransformationResult }) {
  return (
    <details className="more example">
      <summary>
        <ResultBadge result={example} /> {messageTitle(example.before)}{" "}
        <span className="small faint mono">{visibleText(example.messageId, 40)}</span>
      </summary>
      <ResultDetails result={example} />
    </details>
  );
}
