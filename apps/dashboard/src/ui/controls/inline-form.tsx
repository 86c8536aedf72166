import type { FormEvent } from "react";
import { Button } from "./button.js";
import { TextField } from "./field.js";

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
