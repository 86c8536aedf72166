import type { AudienceView, ConditionIssue } from "@sluice/protocol";
import { ComparisonFields } from "../../../forms/comparison/comparison-fields.js";
import { DurationFields } from "../../../forms/duration/duration-fields.js";
import { Button, IconButton } from "../../../ui/controls/button.js";
import { SelectField, TextField } from "../../../ui/controls/field.js";
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
  newTest,
  newTrait,
  type TestDraft,
  type TraitDraft,
} from "./condition-draft.js";

interface BuilderContext {
  readonly audiences: readonly AudienceView[];
  /** Names of events that came lately, offered while typing. */
  readonly eventListId: string;
  readonly issues: readonly ConditionIssue[];
  readonly onChange: (node: number, change: DraftNode | undefined) => void;
}

/** A group of conditions, with groups inside it. `path` is the node's place in the tree that the validator names. */
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
  const change = (part: Partial<GroupDraft>) => context.onChange(group.node, { ...group, ...part });
  const add = (child: DraftNode) => change({ children: [...group.children, child] });
  const inner = group.negated ? `${path}.condition` : path;
  return (
    <fieldset className={depth === 0 ? "group group-root" : "group"}>
      <legend className="visually-hidden">{group.all ? "All of these hold" : "Any of these holds"}</legend>
      <div className="group-head">
        <span className="soft">A user is in when</span>
        <SelectField
          label="How many of the conditions must hold"
          hideLabel
          value={`${group.negated ? "not-" : ""}${group.all ? "all" : "any"}`}
          options={[
            ["all", "all of these hold"],
            ["any", "any of these holds"],
            ["not-all", "not all of these hold"],
            ["not-any", "none of these holds"],
          ]}
          onChange={(event) =>
            change({ all: event.target.value.endsWith("all"), negated: event.target.value.startsWith("not") })
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
      <ul className="group-children">
        {group.children.map((child, index) => {
          const childPath = `${inner}.conditions[${index}]`;
          return (
            <li key={child.node}>
              {child.kind === "group" ? (
                <ConditionGroup group={child} path={childPath} depth={depth + 1} context={context} />
              ) : (
                <Leaf
                  leaf={child}
                  path={child.negated ? `${childPath}.condition` : childPath}
                  context={context}
                />
              )}
            </li>
          );
        })}
      </ul>
      <div className="row group-add">
        <Button size="small" icon="plus" onClick={() => add(newEvent())}>
          Event
        </Button>
        <Button size="small" icon="plus" onClick={() => add(newTrait())}>
          Trait
        </Button>
        <Menu label="More kinds of condition" icon="more">
          {context.audiences[0] && (
            <MenuItem icon="audiences" onSelect={() => add(newAudience(context.audiences[0]?.id ?? ""))}>
              Member of an audience
            </MenuItem>
          )}
          <MenuItem icon="plus" onSelect={() => add(newGroup([newEvent()], !group.all))}>
            Group of conditions
          </MenuItem>
        </Menu>
      </div>
    </fieldset>
  );
}

function Leaf({
  leaf,
  path,
  context,
}: {
  leaf: TraitDraft | EventDraft | AudienceDraft;
  path: string;
  context: BuilderContext;
}) {
  const issues = context.issues.filter((issue) => issue.path.startsWith(path));
  return (
    <div className="leaf">
      <div className="leaf-body">
        {leaf.kind === "trait" && <TraitLeaf leaf={leaf} context={context} />}
        {leaf.kind === "event" && <EventLeaf leaf={leaf} context={context} />}
        {leaf.kind === "audience" && <AudienceLeaf leaf={leaf} context={context} />}
        {issues.map((issue) => (
          <p key={issue.path} className="field-error">
            {issue.message}
          </p>
        ))}
      </div>
      <IconButton
        icon="close"
        label="Remove this condition"
        onClick={() => context.onChange(leaf.node, undefined)}
      />
    </div>
  );
}

function TraitLeaf({ leaf, context }: { leaf: TraitDraft; context: BuilderContext }) {
  const change = (part: Partial<TraitDraft>) => context.onChange(leaf.node, { ...leaf, ...part });
  return (
    <div className="leaf-line">
      <Icon name="profile" />
      <SelectField
        label="Whether it holds or not"
        hideLabel
        className="fit-input"
        value={leaf.negated ? "not" : "yes"}
        options={[
          ["yes", "has the trait"],
          ["not", "has not the trait"],
        ]}
        onChange={(event) => change({ negated: event.target.value === "not" })}
      />
      <ComparisonFields what="Trait" placeholder="plan" test={leaf} onChange={change} />
    </div>
  );
}

function EventLeaf({ leaf, context }: { leaf: EventDraft; context: BuilderContext }) {
  const change = (part: Partial<EventDraft>) => context.onChange(leaf.node, { ...leaf, ...part });
  const changeTest = (node: number, part: Partial<TestDraft> | undefined) =>
    change({
      where: leaf.where.flatMap((test) =>
        test.node !== node ? [test] : part === undefined ? [] : [{ ...test, ...part }],
      ),
    });
  return (
    <>
      <div className="leaf-line">
        <Icon name="live" />
        <SelectField
          label="Whether it was done or not"
          hideLabel
          className="fit-input"
          value={leaf.negated ? "not" : "yes"}
          options={[
            ["yes", "did"],
            ["not", "did not do"],
          ]}
          onChange={(event) => change({ negated: event.target.value === "not" })}
        />
        <TextField
          label="Event"
          hideLabel
          placeholder="Order Completed"
          list={context.eventListId}
          className="wide-input"
          value={leaf.event}
          onChange={(event) => change({ event: event.target.value })}
        />
        <span className="leaf-part">
          <SelectField
            label="How often"
            hideLabel
            className="fit-input"
            value={leaf.bound}
            options={[
              ["atLeast", "at least"],
              ["atMost", "at most"],
              ["exactly", "exactly"],
            ]}
            onChange={(event) => change({ bound: event.target.value as EventDraft["bound"] })}
          />
          <TextField
            label="Times"
            hideLabel
            type="number"
            min={0}
            className="number-input"
            value={leaf.times}
            onChange={(event) => change({ times: event.target.value })}
          />
          <span className="soft">times</span>
        </span>
        <span className="leaf-part">
          <span className="soft">in the last</span>
          <DurationFields
            label="Length of the window; empty for ever"
            placeholder="∞"
            value={leaf.within}
            onChange={(within) => change({ within })}
          />
        </span>
      </div>
      {leaf.where.map((test) => (
        <div key={test.node} className="leaf-line leaf-where">
          <span className="soft">where</span>
          <ComparisonFields
            what="Property"
            placeholder="total"
            test={test}
            onChange={(part) => changeTest(test.node, part)}
          />
          <IconButton
            icon="close"
            label="Remove this property"
            onClick={() => changeTest(test.node, undefined)}
          />
        </div>
      ))}
      <div>
        <Button
          look="quiet"
          size="small"
          icon="plus"
          onClick={() => change({ where: [...leaf.where, newTest()] })}
        >
          where a property …
        </Button>
      </div>
    </>
  );
}

function AudienceLeaf({ leaf, context }: { leaf: AudienceDraft; context: BuilderContext }) {
  const change = (part: Partial<AudienceDraft>) => context.onChange(leaf.node, { ...leaf, ...part });
  return (
    <div className="leaf-line">
      <Icon name="audiences" />
      <SelectField
        label="Whether a member or not"
        hideLabel
        className="fit-input"
        value={leaf.negated ? "not" : "yes"}
        options={[
          ["yes", "is a member of"],
          ["not", "is not a member of"],
        ]}
        onChange={(event) => change({ negated: event.target.value === "not" })}
      />
      <SelectField
        label="Audience"
        hideLabel
        value={leaf.audienceId}
        options={context.audiences.map((one) => [one.id, one.name])}
        onChange={(event) => change({ audienceId: event.target.value })}
      />
    </div>
  );
}
