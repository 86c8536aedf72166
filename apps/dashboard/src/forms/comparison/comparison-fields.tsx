import { SelectField, TextField } from "../../ui/controls/field.js";
import type { ComparisonDraft, DraftComparison } from "./comparison-draft.js";
import { COMPARISON_CHOICES } from "./comparison-words.js";

export interface NamedComparison extends ComparisonDraft {
  readonly name: string;
}

/** The name, comparison and value of a test on a trait, property or field. */
export function ComparisonFields({
  what,
  placeholder,
  list,
  test,
  onChange,
}: {
  what: "Trait" | "Property" | "Field";
  placeholder: string;
  /** Id of a `datalist` with names. */
  list?: string;
  test: NamedComparison;
  onChange: (part: Partial<NamedComparison>) => void;
}) {
  return (
    <>
      <TextField
        label={what}
        hideLabel
        placeholder={placeholder}
        list={list}
        spellCheck={false}
        value={test.name}
        onChange={(event) => onChange({ name: event.target.value })}
      />
      <SelectField
        label="Comparison"
        hideLabel
        className="fit-input"
        value={test.is}
        options={COMPARISON_CHOICES}
        onChange={(event) => onChange({ is: event.target.value as DraftComparison })}
      />
      {test.is !== "exists" && test.is !== "not_exists" && (
        <TextField
          label="Value"
          hideLabel
          placeholder={test.is === "in" ? "pro, team" : "pro"}
          spellCheck={false}
          value={test.value}
          onChange={(event) => onChange({ value: event.target.value })}
        />
      )}
    </>
  );
}
