import type { TransformationView } from "@sluice/control-api";
import { useState } from "react";
import { useEventNames } from "../../api/queries.js";
import { SelectField, TextField } from "../../ui/controls/field.js";
import { Card } from "../../ui/layout/page.js";
import { issueAt, issuesOf } from "../../words/issues.js";
import { CodeEditor, type CodeProblem } from "./code/code-editor.js";
import { knownFields } from "./code/completions.js";
import { DryRunCard } from "./dry-run-card.js";
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
  const events = useEventNames().data ?? [];
  const secrets = transformation?.secretNames ?? [];
  const [wasEntered, setEntered] = useState(false);
  const isNameMissing = wasEntered && draft.name.trim() === "";
  return (
    <div className="sections">
      <div className="workspace">
        <div className="stack">
          <Card>
            <div className="stack">
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
                known={knownFields(trial.messages, events, secrets)}
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

/** What to mark in the code: that it cannot run at all, or where it fails on the chosen message. */
function problemsOf({ query, chosen }: Trial): readonly CodeProblem[] {
  const problem = query.data?.error ?? chosen?.error;
  return problem === undefined ? [] : [problem];
}
