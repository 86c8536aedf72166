import type { DestinationView, FilterRuleView } from "@sluice/control-api";
import { MESSAGE_KINDS } from "@sluice/protocol";
import { type FormEvent, useState } from "react";
import { EditConflict } from "../../../forms/edit-conflict.js";
import type { RemoteChange } from "../../../forms/use-draft.js";
import { Dialog } from "../../../ui/layout/dialog.js";
import { DialogActions } from "../../../ui/layout/dialog-actions.js";
import { newRule, ruleDraftOf, ruleIssues, ruleOf } from "./rule-draft.js";
import { ActionFields, ConditionFields, EventsField, KindFields } from "./rule-fields.js";
import { ruleInWords } from "./rule-words.js";

interface RuleFormProps {
  /** Undefined: a new one. */
  readonly rule: FilterRuleView | undefined;
  readonly busy: boolean;
  readonly error: unknown;
  /** Someone changed the rules since this form was opened. */
  readonly remote: RemoteChange<DestinationView> | undefined;
  readonly onDiscard: () => void;
  /** `upon`: the destination as someone else changed it, to be overwritten. */
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

function RuleForm({ rule, busy, error, remote, onDiscard, onSave, onClose }: RuleFormProps) {
  const [draft, setDraft] = useState(() => (rule === undefined ? newRule() : ruleDraftOf(rule)));
  const [wasTried, setTried] = useState(false);
  const change = (part: Partial<typeof draft>) => setDraft({ ...draft, ...part });
  const issues = ruleIssues(draft);
  const isComplete = Object.keys(issues).length === 0;
  const fields = { draft, issues: wasTried ? issues : {}, change };
  const save = (upon?: DestinationView) => {
    setTried(true);
    if (isComplete) onSave(ruleOf(draft), upon);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save();
  };
  // A rule from elsewhere may name kinds that this list does not have.
  const kinds = [...new Set<string>([...MESSAGE_KINDS, ...draft.kinds])];
  return (
    <form className="stack" onSubmit={submit} noValidate>
      <ActionFields {...fields} />
      <KindFields {...fields} kinds={kinds} />
      <EventsField {...fields} />
      <ConditionFields {...fields} />
      {isComplete && (
        <p className="rule-summary" role="status">
          {ruleInWords(ruleOf(draft))}
        </p>
      )}
      <EditConflict error={error} remote={remote} busy={busy} onDiscard={onDiscard} onOverwrite={save} />
      <DialogActions busy={busy} onCancel={onClose}>
        {rule === undefined ? "Add rule" : "Save rule"}
      </DialogActions>
    </form>
  );
}
