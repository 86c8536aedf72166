import { Checkbox, SelectField, TextField } from "../../../ui/controls/field.js";
import { type FieldIssue, issueAt } from "../../../words/issues.js";

/** One property of a JSON Schema, as a form field. */
export interface SchemaProperty {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly type: "text" | "number" | "boolean" | "choice";
  readonly choices: readonly string[];
  readonly fallback: unknown;
}

/** The properties of a schema, in its order. Lists and objects have forms of their own. */
export function schemaProperties(schema: object): readonly SchemaProperty[] {
  const properties = (schema as { properties?: Record<string, Record<string, unknown>> }).properties ?? {};
  return Object.entries(properties).map(([name, property]) => ({
    name,
    title: typeof property.title === "string" ? property.title : name,
    description: typeof property.description === "string" ? property.description : "",
    type: fieldType(property),
    choices: choicesOf(property),
    fallback: property.default,
  }));
}

export function propertyNames(schema: object): ReadonlySet<string> {
  return new Set(schemaProperties(schema).map(({ name }) => name));
}

function choicesOf(property: Readonly<Record<string, unknown>>): readonly string[] {
  return Array.isArray(property.enum) ? property.enum.map(String) : [];
}

function fieldType(property: Readonly<Record<string, unknown>>): SchemaProperty["type"] {
  const types = [property.type].flat();
  if (choicesOf(property).length > 0) return "choice";
  if (types.includes("boolean")) return "boolean";
  return types.includes("integer") || types.includes("number") ? "number" : "text";
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
