import { type DestinationView, type FilterRuleView, MESSAGE_KINDS } from "@sluice/protocol";
import { type FormEvent, useState } from "react";
import { ComparisonFields } from "../../../forms/comparison/comparison-fields.js";
import { EditConflict } from "../../../forms/edit-conflict.js";
import type { RemoteChange } from "../../../forms/use-draft.js";
import { Button, IconButton } from "../../../ui/controls/button.js";
import { Checkbox, Field, SelectField, TextField } from "../../../ui/controls/field.js";
import { Dialog } from "../../../ui/layout/dialog.js";
import { newRule, newRuleTest, type RuleAction, ruleDraftOf, ruleIssues, ruleOf } from "./rule-draft.js";
import { ruleInWords } from "./rule-words.js";

interface RuleFormProps {
  /** Undefined: a new one. */
  readonly rule: FilterRuleView | undefined;
  readonly busy: boolean;
  readonly error: unknown;
  /** The destination, if somebody changed its rules since this form was opened. */
  readonly theirs: RemoteChange<DestinationView> | undefined;
  readonly onTheirs: () => void;
  /** `upon`: what somebody else made of the destination meanwhile. */
  readonly onSave: (rule: FilterRuleView, upon?: DestinationView) => void;
  readonly onClose: () => void;
}

export function RuleDialog({ open, ...form }: RuleFormProps & { open: boolean }) {
  return (
    <Dialog open={open} onClose={form.onClose} title={form.rule === undefined ? "New rule" : "Edit rule"}>
      <RuleForm {...form} />
    </Dialog>
  );
}

function RuleForm({ rule, busy, error, theirs, onTheirs, onSave, onClose }: RuleFormProps) {
  const [draft, setDraft] = useState(() => (rule === undefined ? newRule() : ruleDraftOf(rule)));
  const [wasTried, setTried] = useState(false);
  const change = (part: Partial<typeof draft>) => setDraft({ ...draft, ...part });
  const issues = ruleIssues(draft);
  const isComplete = Object.keys(issues).length === 0;
  const shown = wasTried ? issues : {};
  const save = (upon?: DestinationView) => {
    setTried(true);
    if (isComplete) onSave(ruleOf(draft), upon);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save();
  };
  // A rule that was made elsewhere may name kinds that this list does not.
  const kinds = [...new Set<string>([...MESSAGE_KINDS, ...draft.kinds])];
  return (
    <form className="stack" onSubmit={submit} noValidate>
      <div className="field-grid">
        <SelectField
          label="What to do"
          value={draft.action}
          options={[
            ["drop", "Drop: do not send"],
            ["sample", "Keep a share, drop the rest"],
            ["remove", "Remove fields, then send"],
          ]}
          onChange={(event) => change({ action: event.target.value as RuleAction })}
        />
        {draft.action === "sample" && (
          <TextField
            label="Share kept, in %"
            type="number"
            min={0}
            max={100}
            step="any"
            error={shown.share}
            value={draft.share}
            onChange={(event) => change({ share: event.target.value })}
          />
        )}
      </div>
      {draft.action === "remove" && (
        <Field label="Fields" hint="One a line, such as properties.email" error={shown.paths}>
          {(wiring) => (
            <textarea
              {...wiring}
              className="input mono"
              rows={2}
              spellCheck={false}
              value={draft.paths}
              onChange={(event) => change({ paths: event.target.value })}
            />
          )}
        </Field>
      )}
      <fieldset className="stack-tight">
        <legend className="field-label">Kinds</legend>
        <p className="field-hint">None chosen: every kind.</p>
        <div className="checkbox-row">
          {kinds.map((kind) => (
            <Checkbox
              key={kind}
              label={kind}
              checked={draft.kinds.includes(kind)}
              onChange={(isChosen) =>
                change({
                  kinds: isChosen ? [...draft.kinds, kind] : draft.kinds.filter((one) => one !== kind),
                })
              }
            />
          ))}
        </div>
      </fieldset>
      <Field label="Track events" optional hint="One name a line, case counts; none: every event">
        {(wiring) => (
          <textarea
            {...wiring}
            className="input"
            rows={2}
            value={draft.events}
            onChange={(event) => change({ events: event.target.value })}
          />
        )}
      </Field>
      <fieldset className="stack-tight">
        <legend className="field-label">Only where</legend>
        {draft.where.map((test) => (
          <div key={test.row} className="leaf-line">
            <ComparisonFields
              what="Field"
              placeholder="properties.total"
              test={test}
              onChange={(part) =>
                change({
                  where: draft.where.map((one) => (one.row === test.row ? { ...one, ...part } : one)),
                })
              }
            />
            <IconButton
              icon="close"
              label="Remove this condition"
              onClick={() => change({ where: draft.where.filter((one) => one.row !== test.row) })}
            />
          </div>
        ))}
        {shown.where && <p className="field-error">{shown.where}</p>}
        <div>
          <Button size="small" icon="plus" onClick={() => change({ where: [...draft.where, newRuleTest()] })}>
            Condition
          </Button>
        </div>
      </fieldset>
      {isComplete && (
        <p className="rule-summary" role="status">
          {ruleInWords(ruleOf(draft))}
        </p>
      )}
      <EditConflict error={error} theirs={theirs} busy={busy} onTheirs={onTheirs} onMine={save} />
      <div className="row dialog-actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button look="primary" type="submit" busy={busy}>
          {rule === undefined ? "Add rule" : "Save rule"}
        </Button>
      </div>
    </form>
  );
}
