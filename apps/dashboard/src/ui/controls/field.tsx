import { type ComponentPropsWithRef, type FormEvent, type ReactNode, useId } from "react";
import { Button } from "./button.js";

interface FieldProps {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly error?: string | undefined;
  readonly optional?: boolean | undefined;
  readonly hideLabel?: boolean | undefined;
}

interface Wiring {
  readonly id: string;
  readonly "aria-describedby": string | undefined;
  readonly "aria-invalid": true | undefined;
}

/** Label, hint and error of one control, connected for screen readers. */
export function Field({
  label,
  hint,
  error,
  optional = false,
  hideLabel = false,
  children,
}: FieldProps & { children: (wiring: Wiring) => ReactNode }) {
  const id = useId();
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  return (
    <div className="field">
      <label className={hideLabel ? "visually-hidden" : "field-label"} htmlFor={id}>
        {label}
        {optional && <span className="field-optional"> optional</span>}
      </label>
      {children({ id, "aria-describedby": described || undefined, "aria-invalid": error ? true : undefined })}
      {hint && (
        <p className="field-hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error && (
        <p className="field-error" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  );
}

type InputProps = FieldProps & Omit<ComponentPropsWithRef<"input">, "id">;

export function TextField({ label, hint, error, optional, hideLabel, ...input }: InputProps) {
  return (
    <Field label={label} hint={hint} error={error} optional={optional} hideLabel={hideLabel}>
      {(wiring) => (
        <input
          type="text"
          autoComplete="off"
          {...input}
          {...wiring}
          className={`input ${input.className ?? ""}`}
        />
      )}
    </Field>
  );
}

type SelectProps = FieldProps &
  Omit<ComponentPropsWithRef<"select">, "id" | "children"> & {
    options: readonly (readonly [value: string, label: string])[];
  };

export function SelectField({ label, hint, error, optional, hideLabel, options, ...select }: SelectProps) {
  return (
    <Field label={label} hint={hint} error={error} optional={optional} hideLabel={hideLabel}>
      {(wiring) => (
        <select {...select} {...wiring} className={`input select ${select.className ?? ""}`}>
          {options.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

type AreaProps = FieldProps & Omit<ComponentPropsWithRef<"textarea">, "id">;

/** A text of several lines. */
export function AreaField({ label, hint, error, optional, hideLabel, ...area }: AreaProps) {
  return (
    <Field label={label} hint={hint} error={error} optional={optional} hideLabel={hideLabel}>
      {(wiring) => (
        <textarea spellCheck={false} {...area} {...wiring} className={`input ${area.className ?? ""}`} />
      )}
    </Field>
  );
}

/** A switch that applies immediately, without a form. */
export function Switch({
  label,
  checked,
  disabled = false,
  onChange,
}: {
  label: string;
  checked: boolean;
  disabled?: boolean;
  onChange: (checked: boolean) => void;
}) {
  return (
    <label className="switch">
      <input
        type="checkbox"
        role="switch"
        aria-checked={checked}
        checked={checked}
        disabled={disabled}
        onChange={(event) => onChange(event.target.checked)}
      />
      <span className="switch-track" aria-hidden="true" />
      <span>{label}</span>
    </label>
  );
}

export function Checkbox({
  label,
  hint,
  checked,
  onChange,
}: {
  label: ReactNode;
  hint?: ReactNode;
  checked: boolean;
  onChange: (checked: boolean) => void;
}) {
  const id = useId();
  return (
    <div className="checkbox">
      <input
        type="checkbox"
        id={id}
        checked={checked}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onChange={(event) => onChange(event.target.checked)}
      />
      <div>
        <label htmlFor={id}>{label}</label>
        {hint && (
          <p className="field-hint" id={`${id}-hint`}>
            {hint}
          </p>
        )}
      </div>
    </div>
  );
}

/** One text field with a submit button beside it. */
export function InlineForm({
  label,
  placeholder = label,
  value,
  button,
  look = "plain",
  busy = false,
  className = "",
  onChange,
  onSubmit,
}: {
  label: string;
  placeholder?: string;
  value: string;
  button: string;
  look?: "primary" | "plain";
  busy?: boolean;
  className?: string;
  onChange: (text: string) => void;
  /** Called with the trimmed text, which may be empty. */
  onSubmit: (text: string) => void;
}) {
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit(value.trim());
  };
  return (
    <form className={`row inline-form ${className}`} onSubmit={submit}>
      <TextField
        label={label}
        hideLabel
        placeholder={placeholder}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
      <Button type="submit" look={look} busy={busy}>
        {button}
      </Button>
    </form>
  );
}
