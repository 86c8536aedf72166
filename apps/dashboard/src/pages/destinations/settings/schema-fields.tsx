import { AreaField, Checkbox, SelectField, TextField } from "../../../ui/controls/field.js";
import { type FieldIssue, issueAt } from "../../../words/errors.js";
import { Secret } from "./secret-field.js";

/** One property of a settings schema, as a form field. */
export interface SchemaProperty {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly type: "text" | "number" | "boolean" | "choice" | "list" | "secret" | "group";
  /** Of a group: what is in it. */
  readonly inner: readonly SchemaProperty[];
  readonly choices: readonly string[];
  readonly fallback: unknown;
  readonly isRequired: boolean;
  /** A text of several lines, which a field of one line would join. */
  readonly isLong: boolean;
  /** Settings that say where a secret is sent. If one of them changes, the secret has to be entered again. */
  readonly boundTo: readonly string[];
}

/** Settings by name, as typed. A list has a text for each line, also for empty ones. Null: removed. */
type Values = Readonly<Record<string, unknown>>;

/** The properties of a schema, in its order. Webhooks have a form of their own. */
export function schemaProperties(schema: object): readonly SchemaProperty[] {
  const { properties = {} } = schema as { properties?: Record<string, Record<string, unknown>> };
  return Object.entries(properties).map(([name, property]) => ({
    name,
    title: typeof property.title === "string" ? property.title : name,
    description: typeof property.description === "string" ? property.description : "",
    type: fieldType(property),
    inner: schemaProperties(property),
    choices: choicesOf(property),
    fallback: property.default,
    isRequired: property.required === true,
    isLong: property.multiline === true,
    boundTo: (property.secret as { boundTo?: readonly string[] } | undefined)?.boundTo ?? [],
  }));
}

function choicesOf(property: Values): readonly string[] {
  return Array.isArray(property.enum) ? property.enum.map(String) : [];
}

function fieldType(property: Values): SchemaProperty["type"] {
  const types = [property.type].flat();
  if (property.secret !== undefined) return "secret";
  if (property.properties !== undefined) return "group";
  if (choicesOf(property).length > 0) return "choice";
  if (types.includes("array")) return "list";
  if (types.includes("boolean")) return "boolean";
  return types.includes("integer") || types.includes("number") ? "number" : "text";
}

/** The fields of settings that have no form of their own. */
export function SchemaFields({
  properties,
  values,
  stored,
  issues,
  onChange,
}: {
  properties: readonly SchemaProperty[];
  values: Values;
  /** What the destination has now. */
  stored: Values;
  issues: readonly FieldIssue[];
  onChange: (values: Values) => void;
}) {
  const valueIn = ({ name, fallback }: SchemaProperty, from: Values) => from[name] ?? fallback;
  return (
    <div className="field-grid">
      {properties.map((property) => (
        <SchemaField
          key={property.name}
          property={property}
          value={property.type === "secret" ? values[property.name] : valueIn(property, values)}
          error={errorAt(property, issues)}
          issues={issues}
          isSet={stored[`${property.name}Set`] === true}
          moved={properties.find(
            (other) =>
              property.boundTo.includes(other.name) && valueIn(other, values) !== valueIn(other, stored),
          )}
          onChange={(value) => onChange({ ...values, [property.name]: value })}
        />
      ))}
    </div>
  );
}

/** The API names settings as it knows them. */
function errorAt({ name, title }: SchemaProperty, issues: readonly FieldIssue[]): string | undefined {
  const message = issueAt(issues, name);
  return message?.startsWith(`${name} `) ? `${title}${message.slice(name.length)}` : message;
}

interface FieldProps {
  readonly property: SchemaProperty;
  readonly value: unknown;
  readonly error: string | undefined;
  readonly issues: readonly FieldIssue[];
  /** Of a secret: whether one is stored. */
  readonly isSet: boolean;
  /** Of a secret: a changed setting that says where it is sent. */
  readonly moved: SchemaProperty | undefined;
  readonly onChange: (value: unknown) => void;
}

function SchemaField(props: FieldProps) {
  const { property, value, error, onChange } = props;
  const { title, description, choices, isRequired, fallback } = property;
  const common = {
    label: title,
    hint: description,
    error,
    optional: !isRequired && fallback === undefined,
    onChange: ({ target }: { target: { value: string } }) =>
      onChange(target.value === "" ? null : target.value),
  };
  switch (property.type) {
    case "boolean":
      return (
        <Checkbox label={title} hint={error ?? description} checked={value === true} onChange={onChange} />
      );
    case "choice":
      return (
        <SelectField
          {...common}
          value={typeof value === "string" ? value : ""}
          options={[
            ...(fallback === undefined ? [["", isRequired ? "Choose one" : "None"] as const] : []),
            ...choices.map((choice) => [choice, choice] as const),
          ]}
        />
      );
    case "number":
      return (
        <TextField
          {...common}
          type="number"
          step="any"
          value={value === undefined || value === null ? "" : String(value)}
          onChange={({ target }) => onChange(target.value === "" ? null : Number(target.value))}
        />
      );
    case "list": {
      const lines: readonly unknown[] = Array.isArray(value) ? value : [];
      return (
        <AreaField
          {...common}
          className="list-input"
          hint={["One a line.", description].filter(Boolean).join(" ")}
          rows={Math.max(2, lines.length)}
          value={lines.join("\n")}
          onChange={({ target }) => onChange(target.value.split("\n"))}
        />
      );
    }
    case "group":
      return <Group {...props} />;
    case "secret":
      return <SecretText {...props} />;
    case "text": {
      const text = typeof value === "string" ? value : "";
      return property.isLong ? (
        <AreaField {...common} className="list-input" rows={3} value={text} />
      ) : (
        <TextField {...common} value={text} />
      );
    }
    default:
      return property.type satisfies never;
  }
}

/** Settings that make sense only together. */
function Group({ property, value, issues, onChange }: FieldProps) {
  const { name, title, description, inner } = property;
  const start = `settings.${name}.`;
  return (
    <fieldset className="stack-tight">
      <legend className="field-label">{title}</legend>
      <p className="field-hint">{description}</p>
      <SchemaFields
        properties={inner}
        values={(value ?? {}) as Values}
        stored={{}}
        issues={issues.flatMap((issue) =>
          issue.path.startsWith(start) ? [{ ...issue, path: issue.path.slice(start.length) }] : [],
        )}
        onChange={onChange}
      />
    </fieldset>
  );
}

function SecretText({ property, value, error, isSet, moved, onChange }: FieldProps) {
  const { title, description, isRequired, isLong } = property;
  const again = moved && isSet ? `Enter it again, because the setting “${moved.title}” is changed.` : "";
  const common = {
    label: title,
    optional: !isRequired && !isSet,
    hint: again || (isSet ? "Leave it empty to keep it." : description),
    error,
    value: typeof value === "string" ? value : "",
    onChange: ({ target }: { target: { value: string } }) =>
      onChange(target.value === "" ? undefined : target.value),
  };
  return (
    <Secret
      label={title}
      value={value}
      isSet={isSet}
      isNeeded={moved !== undefined || error !== undefined}
      canRemove={!isRequired}
      onChange={onChange}
    >
      {() =>
        isLong ? (
          <AreaField {...common} className="list-input" rows={3} autoComplete="off" />
        ) : (
          <TextField {...common} type="password" autoComplete="new-password" />
        )
      }
    </Secret>
  );
}
