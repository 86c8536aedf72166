import type { EventNamesView, TransformationView } from "@sluice/control-api";
import { type JsonObject, readPlan } from "@sluice/protocol";
import { useQueries } from "@tanstack/react-query";
import { useState } from "react";
import { planQuery, useApi, useEventNames, useSources } from "../../api/queries.js";
import { SelectField, TextField } from "../../ui/controls/field.js";
import { Card } from "../../ui/layout/page.js";
import { issueAt, issuesOf } from "../../words/errors.js";
import { CodeEditor, type CodeProblem } from "./code/code-editor.js";
import { type KnownFields, knownFields } from "./code/completions.js";
import { useCodeTypes } from "./code/types/use-code-types.js";
import { DryRunCard } from "./dry-run-card.js";
import { idIn } from "./origins.js";
import { EMPTY_START, READY_STARTS } from "./start-code.js";
import { MessagesCard } from "./trial/messages-card.js";
import { ResultCard } from "./trial/result-card.js";
import { type Trial, useTrial } from "./trial/use-trial.js";
import type { TransformationDraft } from "./use-save.js";

const LANGUAGES = [
  ["typescript", "TypeScript"],
  ["javascript", "JavaScript"],
] as const;

/** The code, the messages that it is tried on, and what it makes of the chosen one. */
export function EditTab({
  transformation,
  draft,
  saveError,
  onChange,
}: {
  transformation: TransformationView | undefined;
  draft: TransformationDraft;
  saveError: unknown;
  onChange: (part: Partial<TransformationDraft>) => void;
}) {
  const trial = useTrial(transformation?.id, draft);
  const sourceId = (trial.input.kind === "newest" && idIn(trial.input.of).sourceId) || "";
  const plans = usePlans(sourceId);
  const known = useKnownFields(trial.messages, plans, transformation?.secretNames ?? []);
  const { types, mistakes } = useCodeTypes(draft.code, draft.language === "typescript", plans);
  const [wasEntered, setEntered] = useState(false);
  const isNameMissing = wasEntered && draft.name.trim() === "";
  return (
    <div className="sections">
      <div className="workspace">
        <div className="stack">
          <Card>
            <div className="stack">
              {transformation === undefined && <StartChoice draft={draft} onChange={onChange} />}
              <div className="workspace-head">
                <TextField
                  label="Name"
                  placeholder="Hash e-mail addresses"
                  maxLength={200}
                  value={draft.name}
                  error={isNameMissing ? "Enter a name." : issueAt(issuesOf(saveError), "name")}
                  onBlur={() => setEntered(true)}
                  onChange={({ target }) => onChange({ name: target.value })}
                />
                <SelectField
                  label="Language"
                  options={LANGUAGES}
                  value={draft.language}
                  onChange={({ target }) =>
                    onChange({ language: target.value as TransformationDraft["language"] })
                  }
                />
              </div>
              <CodeEditor
                label="Code"
                value={draft.code}
                language={draft.language}
                problems={problemsOf(trial)}
                known={known}
                types={types}
                mistakes={mistakes}
                onChange={(code) => onChange({ code })}
              />
            </div>
          </Card>
          <MessagesCard trial={trial} />
        </div>
        <div className="workspace-result">
          <ResultCard trial={trial} />
        </div>
      </div>
      <DryRunCard id={transformation?.id} draft={draft} />
    </div>
  );
}

/** Replaces the code of a new transformation. Undo brings back what was typed. */
function StartChoice({
  draft: { code },
  onChange,
}: {
  draft: TransformationDraft;
  onChange: (part: Partial<TransformationDraft>) => void;
}) {
  const starts = [EMPTY_START, ...READY_STARTS];
  const chosen = starts.find((one) => one.code === code);
  return (
    <SelectField
      label="Start from"
      options={[
        ...(chosen === undefined ? [["own", "Your own code"] as const] : []),
        ...starts.map(({ name }) => [name, name || "An empty function"] as const),
      ]}
      value={chosen?.name ?? "own"}
      onChange={({ target }) =>
        onChange({ ...starts.find(({ name }) => name === target.value), language: "typescript" })
      }
    />
  );
}

/** What to mark in the code: that it cannot run at all, or where it fails on the chosen message. */
function problemsOf({ query, chosen }: Trial): readonly CodeProblem[] {
  const problem = query.data?.error ?? chosen?.error;
  return problem === undefined ? [] : [problem];
}

/** The tracking plans of a source. Empty `sourceId`: of all sources. */
function usePlans(sourceId: string): readonly unknown[] {
  const api = useApi();
  const sources = (useSources().data ?? []).filter(({ id }) => sourceId === "" || sourceId === id);
  const plans = useQueries({ queries: sources.map(({ id }) => planQuery(api, id)) });
  return plans.flatMap(({ data }) => (data ? [data.plan] : []));
}

/** What can be completed: from seen messages, the events of all sources, and tracking plans. */
function useKnownFields(
  messages: readonly JsonObject[],
  plans: readonly unknown[],
  secretNames: readonly string[],
): KnownFields {
  const seen = useEventNames().data ?? [];
  return knownFields(messages, [...plans.flatMap(plannedEvents), ...seen], secretNames);
}

/** The track events of a plan, with the properties that it names. */
export function plannedEvents(plan: unknown): EventNamesView["items"] {
  const reading = readPlan(plan);
  const track = reading.kind === "plan" ? [...(reading.plan.track ?? [])] : [];
  return track.map(([name, schema]) => ({ name, properties: [...(schema.properties?.keys() ?? [])] }));
}
