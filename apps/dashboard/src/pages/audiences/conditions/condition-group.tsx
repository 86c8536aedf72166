import { Button, IconButton } from "../../../ui/controls/button.js";
import { SelectField } from "../../../ui/controls/field.js";
import { Menu, MenuItem } from "../../../ui/controls/menu.js";
import type { BuilderContext } from "./builder-context.js";
import {
  type DraftNode,
  type GroupDraft,
  newAudience,
  newEvent,
  newGroup,
  newTrait,
} from "./condition-draft.js";
import { ConditionRow } from "./condition-row.js";

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
