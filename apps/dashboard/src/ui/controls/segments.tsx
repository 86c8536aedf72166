import { useId } from "react";

/** A choice between a few visible options: radio buttons that look like one control. */
export function Segments<Value extends string>({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: Value;
  options: readonly (readonly [value: Value, label: string])[];
  onChange: (value: Value) => void;
}) {
  const name = useId();
  return (
    <fieldset className="segments">
      <legend className="visually-hidden">{label}</legend>
      {options.map(([one, words]) => (
        <label key={one} className="segment">
          <input type="radio" name={name} checked={one === value} onChange={() => onChange(one)} />
          <span>{words}</span>
        </label>
      ))}
    </fieldset>
  );
}
