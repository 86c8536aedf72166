import { SelectField } from "../../../ui/controls/field.js";

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
