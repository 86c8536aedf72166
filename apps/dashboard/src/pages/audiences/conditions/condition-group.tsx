import { ComparisonFields } from "../../../forms/comparison/comparison-fields.js";
import { Button, IconButton } from "../../../ui/controls/button.js";
import { SelectField } from "../../../ui/controls/field.js";
import { Menu, MenuItem } from "../../../ui/controls/menu.js";
import { Icon } from "../../../ui/icon.js";
import {
  type AudienceDraft,
  type DraftNode,
  type EventDraft,
  type GroupDraft,
  newAudience,
  newEvent,
  newGroup,
  newTrait,
  type TraitDraft,
} from "./condition-draft.js";
import type { BuilderContext } from "./event-fields.js";
import { EventFields, NegationField } from "./event-fields.js";

/** A group of conditions, which may hold further groups. `path` is the position that the validator reports. */
export function ConditionGroup({
  group,
  path,
  depth,
  context,
}: {
  group: GroupDraft;
  path: string;
  depth: number;
  context: BuilderContext;
}) {
  const inner = group.negated ? `${path}.condition` : path;
  return (
    <fieldset className={depth === 0 ? "group group-root" : "group"}>
      <legend className="visually-hidden">{group.all ? "All of these" : "Any of these"}</legend>
      <GroupHead group={group} depth={depth} context={context} />
      <ul className="group-children">
        {group.children.map((child, index) => {
          const childPath = `${inner}.conditions[${index}]`;
          return (
            <li key={child.node}>
              {child.kind === "group" ? (
                <ConditionGroup group={child} path={childPath} depth={depth + 1} context={context} />
              ) : (
                <ConditionRow
                  condition={child}
                  path={child.negated ? `${childPath}.condition` : childPath}
                  context={context}
                />
              )}
            </li>
          );
        })}
      </ul>
      <AddCondition group={group} context={context} />
    </fieldset>
  );
}

function GroupHead({ group, depth, context }: { group: GroupDraft; depth: number; context: BuilderContext }) {
  return (
    <div className="group-head">
      <span className="soft">Users who meet</span>
      <SelectField
        label="Which of the conditions must be true"
        hideLabel
        value={`${group.negated ? "not-" : ""}${group.all ? "all" : "any"}`}
        options={[
          ["all", "all of these"],
          ["any", "any of these"],
          ["not-all", "not all of these"],
          ["not-any", "none of these"],
        ]}
        onChange={({ target: { value } }) =>
          context.onChange(group.node, {
            ...group,
            all: value.endsWith("all"),
            negated: value.startsWith("not"),
          })
        }
      />
      {depth > 0 && (
        <IconButton
          icon="close"
          label="Remove this group"
          onClick={() => context.onChange(group.node, undefined)}
        />
      )}
    </div>
  );
}

function AddCondition({ group, context }: { group: GroupDraft; context: BuilderContext }) {
  const add = (child: DraftNode) =>
    context.onChange(group.node, { ...group, children: [...group.children, child] });
  const [audience] = context.audiences;
  return (
    <div className="row group-add">
      <Button size="small" icon="plus" onClick={() => add(newEvent())}>
        Event
      </Button>
      <Button size="small" icon="plus" onClick={() => add(newTrait())}>
        Trait
      </Button>
      <Menu label="More condition types" icon="more">
        {audience && (
          <MenuItem icon="audiences" onSelect={() => add(newAudience(audience.id))}>
            Audience membership
          </MenuItem>
        )}
        <MenuItem icon="plus" onSelect={() => add(newGroup([newEvent()], !group.all))}>
          Group of conditions
        </MenuItem>
      </Menu>
    </div>
  );
}

/** One condition that is not a group, with the validator's issues. */
function ConditionRow({
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
