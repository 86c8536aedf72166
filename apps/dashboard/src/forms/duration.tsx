import type { ReactNode } from "react";
import { SelectField, TextField } from "../ui/controls/field.js";

const DURATION_UNITS = {
  seconds: 1_000,
  minutes: 60_000,
  hours: 3_600_000,
  days: 86_400_000,
} as const;
type DurationUnit = keyof typeof DURATION_UNITS;

/** A duration as typed. */
export interface DurationDraft {
  /** As typed; empty: none. */
  readonly text: string;
  readonly unit: DurationUnit;
}

/** Undefined if empty. NaN if it is not a number, which no validator accepts. */
export function durationMs({ text, unit }: DurationDraft): number | undefined {
  return text.trim() === "" ? undefined : Math.round(Number(text) * DURATION_UNITS[unit]);
}

/** The duration in the largest unit that gives a whole number. */
export function durationDraft(ms: number | undefined, fallback: DurationUnit = "days"): DurationDraft {
  if (ms === undefined) return { text: "", unit: fallback };
  const unit =
    (["days", "hours", "minutes"] as const).find((one) => ms % DURATION_UNITS[one] === 0) ?? "seconds";
  return { text: String(ms / DURATION_UNITS[unit]), unit };
}

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
