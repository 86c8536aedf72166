import { ComparisonFields } from "../../../forms/comparison/comparison-fields.js";
import { IconButton } from "../../../ui/controls/button.js";
import { SelectField } from "../../../ui/controls/field.js";
import { Icon } from "../../../ui/icon.js";
import type { BuilderContext } from "./builder-context.js";
import type { AudienceDraft, EventDraft, TraitDraft } from "./condition-draft.js";
import { EventFields } from "./event-fields.js";
import { NegationField } from "./negation-field.js";

/** One condition that is not a group, with the validator's issues. */
export function ConditionRow({
  condition,
  path,
  context,
}: {
  condition: TraitDraft | EventDraft | AudienceDraft;
  path: string;
  context: BuilderContext;
}) {
  const issues = context.issues.filter((issue) => issue.path.startsWith(path));
  return (
    <div className="leaf">
      <div className="leaf-body">
        {condition.kind === "trait" && <TraitFields condition={condition} context={context} />}
        {condition.kind === "event" && <EventFields condition={condition} context={context} />}
        {condition.kind === "audience" && <AudienceFields condition={condition} context={context} />}
        {issues.map((issue) => (
          <p key={issue.path} className="field-error">
            {issue.message}
          </p>
        ))}
      </div>
      <IconButton
        icon="close"
        label="Remove this condition"
        onClick={() => context.onChange(condition.node, undefined)}
      />
    </div>
  );
}

function TraitFields({ condition, context }: { condition: TraitDraft; context: BuilderContext }) {
  const change = (part: Partial<TraitDraft>) => context.onChange(condition.node, { ...condition, ...part });
  return (
    <div className="leaf-line">
      <Icon name="profile" />
      <NegationField
        label="Trait condition"
        words={["has the trait", "does not have the trait"]}
        negated={condition.negated}
        onChange={change}
      />
      <ComparisonFields what="Trait" placeholder="plan" test={condition} onChange={change} />
    </div>
  );
}

function AudienceFields({ condition, context }: { condition: AudienceDraft; context: BuilderContext }) {
  const change = (part: Partial<AudienceDraft>) =>
    context.onChange(condition.node, { ...condition, ...part });
  return (
    <div className="leaf-line">
      <Icon name="audiences" />
      <NegationField
        label="Membership"
        words={["is a member of", "is not a member of"]}
        negated={condition.negated}
        onChange={change}
      />
      <SelectField
        label="Audience"
        hideLabel
        value={condition.audienceId}
        options={context.audiences.map((one) => [one.id, one.name])}
        onChange={(event) => change({ audienceId: event.target.value })}
      />
    </div>
  );
}
