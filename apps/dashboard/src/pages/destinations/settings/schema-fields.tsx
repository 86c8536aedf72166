import { Checkbox, SelectField, TextField } from "../../../ui/controls/field.js";
import { type FieldIssue, issueAt } from "../../../words/issues.js";

/** One setting of a JSON Schema, as far as a form can draw it. */
export interface SchemaProperty {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly type: "text" | "number" | "boolean" | "choice";
  readonly choices: readonly string[];
  readonly fallback: unknown;
}

/** The settings that a schema names, in its order. Lists and objects are left to forms of their own. */
export function schemaProperties(schema: object): readonly SchemaProperty[] {
  const properties = (schema as { properties?: Record<string, Record<string, unknown>> }).properties ?? {};
  return Object.entries(properties).map(([name, property]) => {
    const types = [property.type].flat();
    const choices = Array.isArray(property.enum) ? property.enum.map(String) : [];
    return {
      name,
      title: typeof property.title === "string" ? property.title : name,
      description: typeof property.description === "string" ? property.description : "",
      type:
        choices.length > 0
          ? "choice"
          : types.includes("boolean")
            ? "boolean"
            : types.includes("integer") || types.includes("number")
              ? "number"
              : "text",
      choices,
      fallback: property.default,
    };
  });
}

export function SchemaFields({
  properties,
  values,
  issues,
  onChange,
}: {
  properties: readonly SchemaProperty[];
  values: Readonly<Record<string, unknown>>;
  issues: readonly FieldIssue[];
  onChange: (values: Readonly<Record<string, unknown>>) => void;
}) {
  return (
    <div className="field-grid">
      {properties.map((property) => (
        <SchemaField
          key={property.name}
          property={property}
          value={values[property.name] ?? property.fallback}
          error={issueAt(issues, property.name)}
          onChange={(value) => onChange({ ...values, [property.name]: value })}
        />
      ))}
    </div>
  );
}

function SchemaField({
  property,
  value,
  error,
  onChange,
}: {
  property: SchemaProperty;
  value: unknown;
  error: string | undefined;
  onChange: (value: unknown) => void;
}) {
  const { title, description, choices } = property;
  switch (property.type) {
    case "boolean":
      return (
        <Checkbox label={title} hint={error ?? description} checked={value === true} onChange={onChange} />
      );
    case "choice":
      return (
        <SelectField
          label={title}
          hint={description}
          error={error}
          value={String(value ?? choices[0])}
          options={choices.map((choice) => [choice, choice])}
          onChange={(event) => onChange(event.target.value)}
        />
      );
    case "number":
      return (
        <TextField
          label={title}
          hint={description}
          error={error}
          type="number"
          step="any"
          value={value === undefined || value === null ? "" : String(value)}
          onChange={(event) => onChange(event.target.value === "" ? null : Number(event.target.value))}
        />
      );
    case "text":
      return (
        <TextField
          label={title}
          hint={description}
          error={error}
          value={typeof value === "string" ? value : ""}
          onChange={(event) => onChange(event.target.value === "" ? null : event.target.value)}
        />
      );
    default:
      return property.type satisfies never;
  }
}
