import { ComparisonFields } from "../../../forms/comparison/comparison-fields.js";
import { Button, IconButton } from "../../../ui/controls/button.js";
import { AreaField, Checkbox, SelectField, TextField } from "../../../ui/controls/field.js";
import {
  newRuleTest,
  type RuleAction,
  type RuleDraft,
  type RuleIssues,
  type RuleTest,
} from "./rule-draft.js";

interface RuleFieldsProps {
  readonly draft: RuleDraft;
  readonly issues: RuleIssues;
  readonly change: (part: Partial<RuleDraft>) => void;
}

/** What the rule does. */
export function ActionFields({ draft, issues, change }: RuleFieldsProps) {
  return (
    <>
      <div className="field-grid">
        <SelectField
          label="Action"
          value={draft.action}
          options={[
            ["drop", "Drop"],
            ["sample", "Sample: keep a share, drop the rest"],
            ["remove", "Remove fields, then send"],
          ]}
          onChange={(event) => change({ action: event.target.value as RuleAction })}
        />
        {draft.action === "sample" && (
          <TextField
            label="Share to keep, in %"
            type="number"
            min={0}
            max={100}
            step="any"
            error={issues.share}
            value={draft.share}
            onChange={(event) => change({ share: event.target.value })}
          />
        )}
      </div>
      {draft.action === "remove" && (
        <AreaField
          className="mono"
          label="Fields"
          hint="One per line, for example properties.email"
          error={issues.paths}
          rows={2}
          value={draft.paths}
          onChange={({ target }) => change({ paths: target.value })}
        />
      )}
    </>
  );
}

/** The message kinds that the rule applies to. */
export function KindFields({
  draft,
  kinds,
  change,
}: RuleFieldsProps & {
  readonly kinds: readonly string[];
}) {
  return (
    <fieldset className="stack-tight">
      <legend className="field-label">Kinds</legend>
      <p className="field-hint">If none is selected, the rule applies to all kinds.</p>
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
  );
}

/** The track events that the rule applies to. */
export function EventsField({ draft, change }: RuleFieldsProps) {
  return (
    <AreaField
      label="Track events"
      optional
      hint="One name per line, case-sensitive. Leave empty for all events"
      rows={2}
      value={draft.events}
      onChange={({ target }) => change({ events: target.value })}
    />
  );
}

/** Conditions on fields, all of which must be true. */
export function ConditionFields({ draft, issues, change }: RuleFieldsProps) {
  const replace = (row: number, part: Partial<RuleTest>) =>
    change({ where: draft.where.map((one) => (one.row === row ? { ...one, ...part } : one)) });
  return (
    <fieldset className="stack-tight">
      <legend className="field-label">Conditions</legend>
      {draft.where.map((test) => (
        <div key={test.row} className="leaf-line">
          <ComparisonFields
            what="Field"
            placeholder="properties.total"
            test={test}
            onChange={(part) => replace(test.row, part)}
          />
          <IconButton
            icon="close"
            label="Remove this condition"
            onClick={() => change({ where: draft.where.filter((one) => one.row !== test.row) })}
          />
        </div>
      ))}
      {issues.where && <p className="field-error">{issues.where}</p>}
      <div>
        <Button size="small" icon="plus" onClick={() => change({ where: [...draft.where, newRuleTest()] })}>
          Condition
        </Button>
      </div>
    </fieldset>
  );
}
