import type { AudienceView } from "@sluice/control-api";
import type { ConditionIssue } from "@sluice/protocol";
import { useId } from "react";
import { ComparisonFields } from "../../../forms/comparison/comparison-fields.js";
import { DurationFields } from "../../../forms/duration.js";
import { PropertySuggestions } from "../../../forms/event-suggestions.js";
import { Button, IconButton } from "../../../ui/controls/button.js";
import { SelectField, TextField } from "../../../ui/controls/field.js";
import { Icon } from "../../../ui/icon.js";
import { type DraftNode, type EventDraft, newTest, type TestDraft } from "./condition-draft.js";

/** What every node of the condition builder needs. */
export interface BuilderContext {
  readonly audiences: readonly AudienceView[];
  /** Id of the `datalist` with the names of events. */
  readonly eventListId: string;
  readonly issues: readonly ConditionIssue[];
  /** Replaces a node; with undefined, removes it. */
  readonly onChange: (node: number, change: DraftNode | undefined) => void;
}

/** Chooses between a condition and its negation, in the words of its kind. */
export function NegationField({
  label,
  words: [positive, negative],
  negated,
  onChange,
}: {
  label: string;
  words: readonly [positive: string, negative: string];
  negated: boolean;
  onChange: (part: { readonly negated: boolean }) => void;
}) {
  return (
    <SelectField
      label={label}
      hideLabel
      className="fit-input"
      value={negated ? "not" : "yes"}
      options={[
        ["yes", positive],
        ["not", negative],
      ]}
      onChange={(event) => onChange({ negated: event.target.value === "not" })}
    />
  );
}

interface EventFieldsProps {
  readonly condition: EventDraft;
  readonly change: (part: Partial<EventDraft>) => void;
}

/** An event condition: which event, how often, in which window, with which properties. */
export function EventFields({ condition, context }: { condition: EventDraft; context: BuilderContext }) {
  const change = (part: Partial<EventDraft>) => context.onChange(condition.node, { ...condition, ...part });
  return (
    <>
      <div className="leaf-line">
        <Icon name="live" />
        <NegationField
          label="Event condition"
          words={["did", "did not do"]}
          negated={condition.negated}
          onChange={change}
        />
        <TextField
          label="Event"
          hideLabel
          placeholder="Order Completed"
          list={context.eventListId}
          className="wide-input"
          value={condition.event}
          onChange={(event) => change({ event: event.target.value })}
        />
        <TimesFields condition={condition} change={change} />
        <span className="leaf-part">
          <span className="soft">in the last</span>
          <DurationFields
            label="Time window. Leave empty for no limit"
            placeholder="∞"
            value={condition.within}
            onChange={(within) => change({ within })}
          />
        </span>
      </div>
      <PropertyTests condition={condition} change={change} />
    </>
  );
}

function TimesFields({ condition, change }: EventFieldsProps) {
  return (
    <span className="leaf-part">
      <SelectField
        label="How often"
        hideLabel
        className="fit-input"
        value={condition.bound}
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
        value={condition.times}
        onChange={(event) => change({ times: event.target.value })}
      />
      <span className="soft">times</span>
    </span>
  );
}

function PropertyTests({ condition: { event, where }, change }: EventFieldsProps) {
  const listId = useId();
  const replace = (node: number, part: Partial<TestDraft>) =>
    change({ where: where.map((test) => (test.node === node ? { ...test, ...part } : test)) });
  return (
    <>
      {where.length > 0 && <PropertySuggestions id={listId} event={event} />}
      {where.map((test) => (
        <div key={test.node} className="leaf-line leaf-where">
          <span className="soft">where</span>
          <ComparisonFields
            what="Property"
            placeholder="total"
            list={listId}
            test={test}
            onChange={(part) => replace(test.node, part)}
          />
          <IconButton
            icon="close"
            label="Remove this property"
            onClick={() => change({ where: where.filter((one) => one.node !== test.node) })}
          />
        </div>
      ))}
      <div>
        <Button
          look="quiet"
          size="small"
          icon="plus"
          onClick={() => change({ where: [...where, newTest()] })}
        >
          Add a property filter
        </Button>
      </div>
    </>
  );
}
