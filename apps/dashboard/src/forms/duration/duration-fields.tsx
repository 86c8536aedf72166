import type { ReactNode } from "react";
import { SelectField, TextField } from "../../ui/controls/field.js";
import { DURATION_UNITS, type DurationDraft, type DurationUnit } from "./duration-draft.js";

/** A number and its unit. `label` names both for screen readers; the caller renders the visible text. */
export function DurationFields({
  label,
  placeholder,
  value,
  onChange,
}: {
  label: string;
  placeholder?: string;
  value: DurationDraft;
  onChange: (value: DurationDraft) => void;
}) {
  return (
    <>
      <TextField
        label={label}
        hideLabel
        type="number"
        min={0}
        step="any"
        placeholder={placeholder}
        className="number-input"
        value={value.text}
        onChange={(event) => onChange({ ...value, text: event.target.value })}
      />
      <SelectField
        label={`${label}: unit`}
        hideLabel
        className="fit-input"
        value={value.unit}
        options={Object.keys(DURATION_UNITS).map((unit) => [unit, unit])}
        onChange={(event) => onChange({ ...value, unit: event.target.value as DurationUnit })}
      />
    </>
  );
}

/** A setting that is a duration: a sentence that ends with it, and a hint or what is wrong. */
export function DurationSetting({
  legend,
  sentence,
  label,
  hint,
  error,
  value,
  onChange,
}: {
  legend: string;
  sentence: string;
  /** Names the fields for screen readers. */
  label: string;
  hint: ReactNode;
  error: string | undefined;
  value: DurationDraft;
  onChange: (value: DurationDraft) => void;
}) {
  return (
    <fieldset className="stack-tight">
      <legend className="field-label">{legend}</legend>
      <div className="leaf-line">
        <span className="soft">{sentence}</span>
        <DurationFields label={label} value={value} onChange={onChange} />
      </div>
      {error === undefined ? (
        <p className="field-hint">{hint}</p>
      ) : (
        <p className="field-error" role="alert">
          {error}
        </p>
      )}
    </fieldset>
  );
}
