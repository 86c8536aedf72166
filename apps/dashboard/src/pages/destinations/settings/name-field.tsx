import { TextField } from "../../../ui/controls/field.js";
import { type FieldIssue, issueAt } from "../../../words/issues.js";

/** The name of a destination, which messages may use in `integrations`. */
export function NameField({
  value,
  issues,
  onChange,
}: {
  value: string;
  issues: readonly FieldIssue[];
  onChange: (name: string) => void;
}) {
  return (
    <TextField
      label="Name"
      hint={
        <>
          Messages can address this destination by this name or its type's name in <code>integrations</code>.
          Case-sensitive.
        </>
      }
      error={issueAt(issues, "name")}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
