import { type FieldIssue, issueAt } from "../../../words/errors.js";
import { SchemaFields, schemaProperties } from "./schema-fields.js";
import { SecretField } from "./secret-field.js";
import { OWN_FORM, type SettingsDraft } from "./settings-draft.js";
import { WebhookFields } from "./webhook-fields.js";

/** The settings of a destination: webhooks and secret first, then the other properties of the catalog's schema. */
export function SettingsForm({
  schema,
  draft,
  issues,
  stored,
  onChange,
}: {
  schema: object;
  draft: SettingsDraft;
  issues: readonly FieldIssue[];
  /** The settings that the destination has now, with `…Set` for its secrets. */
  stored: Readonly<Record<string, unknown>>;
  onChange: (draft: SettingsDraft) => void;
}) {
  const properties = schemaProperties(schema);
  const names = new Set(properties.map(({ name }) => name));
  const others = properties.filter(({ name }) => !OWN_FORM.has(name));
  const otherFields = (
    <SchemaFields
      properties={others}
      values={draft.others}
      stored={stored}
      issues={issues}
      onChange={(values) => onChange({ ...draft, others: values })}
    />
  );
  return (
    <div className="stack">
      {names.has("webhooks") && (
        <div data-setting="webhooks">
          <WebhookFields
            webhooks={draft.webhooks}
            issues={issues}
            onChange={(webhooks) => onChange({ ...draft, webhooks })}
          />
        </div>
      )}
      {names.has("sharedSecret") && (
        <div data-setting="sharedSecret">
          <SecretField
            draft={draft.secret}
            hasSecret={stored.sharedSecretSet === true}
            error={issueAt(issues, "sharedSecret")}
            onChange={(secret) => onChange({ ...draft, secret })}
          />
        </div>
      )}
      {others.length > 0 &&
        (names.has("webhooks") ? (
          <details
            className="more"
            open={issues.some((issue) => others.some(({ name }) => issue.path.split(".")[1] === name))}
          >
            <summary>More settings</summary>
            {otherFields}
          </details>
        ) : (
          otherFields
        ))}
    </div>
  );
}
