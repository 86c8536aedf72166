import type { DestinationView, FilterRuleView } from "@sluice/control-api";
import { MESSAGE_KINDS } from "@sluice/protocol";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useApi } from "../../../api/queries.js";
import { EditConflict, type RemoteChange, remoteChange } from "../../../forms/edit-conflict.js";
import { Button } from "../../../ui/controls/button.js";
import { Menu, MenuItem } from "../../../ui/controls/menu.js";
import { Failure } from "../../../ui/feedback.js";
import { Dialog, DialogActions } from "../../../ui/layout/dialog.js";
import { Card } from "../../../ui/layout/page.js";
import { moved, newRule, ruleDraftOf, ruleInWords, ruleIssues, ruleOf, withRule } from "./rule-draft.js";
import { ActionFields, ConditionFields, EventsField, KindFields } from "./rule-fields.js";

/** `of` is the destination as it was when editing began. If someone changed it since, saving reports a conflict. */
type Editing =
  | { readonly kind: "nothing" }
  | { readonly kind: "new"; readonly of: DestinationView }
  | { readonly kind: "rule"; readonly of: DestinationView; readonly index: number };

/** Rules that drop or sample messages, or remove fields, for one destination. */
export function FilterRules({ destination }: { destination: DestinationView }) {
  const api = useApi();
  const queries = useQueryClient();
  const [editing, setEditing] = useState<Editing>({ kind: "nothing" });
  const save = useMutation({
    mutationFn: ({ of, filters }: { of: DestinationView; filters: readonly FilterRuleView[] }) =>
      api.destinations.patch(of.id, { filters, version: of.version }),
    onSuccess: () => setEditing({ kind: "nothing" }),
    onSettled: () => queries.invalidateQueries({ queryKey: ["destinations"] }),
  });
  const edit = (next: Editing) => {
    save.reset();
    setEditing(next);
  };
  return (
    <Card
      title="Filter"
      note="Rules run from top to bottom and stop at the first drop or sample rule. Rules that remove fields never stop. Filtered messages stay stored and counted."
      actions={
        <Button size="small" icon="plus" onClick={() => edit({ kind: "new", of: destination })}>
          New rule
        </Button>
      }
    >
      <div className="stack">
        <RuleList
          rules={destination.filters}
          onEdit={(index) => edit({ kind: "rule", of: destination, index })}
          onChange={(filters) => save.mutate({ of: destination, filters })}
        />
        {save.isError && editing.kind === "nothing" && <Failure error={save.error} />}
      </div>
      <EditedRule
        editing={editing}
        latest={destination}
        busy={save.isPending}
        error={save.error}
        onClose={() => edit({ kind: "nothing" })}
        onSave={save.mutate}
      />
    </Card>
  );
}

function RuleList({
  rules,
  onEdit,
  onChange,
}: {
  rules: readonly FilterRuleView[];
  onEdit: (index: number) => void;
  onChange: (rules: readonly FilterRuleView[]) => void;
}) {
  if (rules.length === 0)
    return <p className="soft">No rules: all messages of the sources are sent unchanged.</p>;
  return (
    <ol className="lines">
      {rules.map((rule, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rules have no id, only a position
        <li key={index}>
          <span className="faint number">{index + 1}</span>
          <button type="button" className="text-button grow rule-text" onClick={() => onEdit(index)}>
            {ruleInWords(rule)}
            <span className="visually-hidden">, edit</span>
          </button>
          <Menu label={`Rule ${index + 1}`} icon="more">
            <MenuItem icon="edit" onSelect={() => onEdit(index)}>
              Edit
            </MenuItem>
            {index > 0 && (
              <MenuItem icon="up" onSelect={() => onChange(moved(rules, index, -1))}>
                Move up
              </MenuItem>
            )}
            {index < rules.length - 1 && (
              <MenuItem icon="down" onSelect={() => onChange(moved(rules, index, 1))}>
                Move down
              </MenuItem>
            )}
            <MenuItem
              icon="deletions"
              danger
              onSelect={() => onChange(rules.filter((_, position) => position !== index))}
            >
              Remove
            </MenuItem>
          </Menu>
        </li>
      ))}
    </ol>
  );
}

/** The dialog of the edited rule, with the conflict if someone changed the rules meanwhile. */
function EditedRule({
  editing,
  latest,
  busy,
  error,
  onClose,
  onSave,
}: {
  editing: Editing;
  latest: DestinationView;
  busy: boolean;
  error: unknown;
  onClose: () => void;
  onSave: (change: { of: DestinationView; filters: readonly FilterRuleView[] }) => void;
}) {
  const edited = editing.kind === "rule" ? editing.of.filters[editing.index] : undefined;
  const isOpen = editing.kind !== "nothing";
  return (
    <RuleDialog
      open={isOpen}
      rule={edited}
      busy={busy}
      error={isOpen ? error : undefined}
      remote={
        isOpen ? remoteChange(editing.of, latest, ({ filters }) => ({ "the rules": filters })) : undefined
      }
      onDiscard={onClose}
      onClose={onClose}
      onSave={(rule, upon) => {
        if (!isOpen) return;
        const of = upon ?? versionToReplace(editing.of, latest);
        onSave({ of, filters: withRule(of.filters, edited, rule) });
      }}
    />
  );
}

/** The latest version, unless its rules changed since editing began: then saving the old one must fail. */
function versionToReplace(begun: DestinationView, latest: DestinationView): DestinationView {
  return JSON.stringify(begun.filters) === JSON.stringify(latest.filters) ? latest : begun;
}

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

function RuleDialog({ open, ...form }: RuleFormProps & { open: boolean }) {
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
