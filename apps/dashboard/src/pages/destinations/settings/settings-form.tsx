import { Button, IconButton } from "../../../ui/controls/button.js";
import { CopyButton } from "../../../ui/controls/copy-button.js";
import { Field, TextField } from "../../../ui/controls/field.js";
import { type FieldIssue, issueAt } from "../../../words/issues.js";
import { visibleText } from "../../../words/visible-text.js";
import { SchemaFields, schemaProperties } from "./schema-fields.js";
import { newHeader, newSecret, newWebhook, type SettingsDraft, type WebhookDraft } from "./settings-draft.js";

const MOST_WEBHOOKS = 5;

/** The settings of a destination: URLs and secret, then what else the catalog's schema names. */
export function SettingsForm({
  schema,
  draft,
  issues,
  hasSecret,
  onChange,
}: {
  schema: object;
  draft: SettingsDraft;
  issues: readonly FieldIssue[];
  /** Whether a secret is kept already. */
  hasSecret: boolean;
  onChange: (draft: SettingsDraft) => void;
}) {
  const properties = schemaProperties(schema);
  const names = new Set(properties.map(({ name }) => name));
  const others = properties.filter(({ name }) => !["webhooks", "webhookUrl", "sharedSecret"].includes(name));
  return (
    <div className="stack">
      {names.has("webhooks") && (
        <Webhooks
          webhooks={draft.webhooks}
          issues={issues}
          onChange={(webhooks) => onChange({ ...draft, webhooks })}
        />
      )}
      {names.has("sharedSecret") && (
        <Secret
          draft={draft.secret}
          hasSecret={hasSecret}
          error={issueAt(issues, "sharedSecret")}
          onChange={(secret) => onChange({ ...draft, secret })}
        />
      )}
      {others.length > 0 &&
        (names.has("webhooks") ? (
          <details
            className="more"
            open={issues.some((issue) => others.some(({ name }) => issue.path.endsWith(name)))}
          >
            <summary>More settings</summary>
            <SchemaFields
              properties={others}
              values={draft.others}
              issues={issues}
              onChange={(values) => onChange({ ...draft, others: values })}
            />
          </details>
        ) : (
          <SchemaFields
            properties={others}
            values={draft.others}
            issues={issues}
            onChange={(values) => onChange({ ...draft, others: values })}
          />
        ))}
    </div>
  );
}

function Webhooks({
  webhooks,
  issues,
  onChange,
}: {
  webhooks: readonly WebhookDraft[];
  issues: readonly FieldIssue[];
  onChange: (webhooks: readonly WebhookDraft[]) => void;
}) {
  const replace = (row: number, change: Partial<WebhookDraft>) =>
    onChange(webhooks.map((one) => (one.row === row ? { ...one, ...change } : one)));
  return (
    <fieldset className="stack-tight">
      <legend className="field-label">URLs</legend>
      <p className="field-hint">
        Every message is posted to all of them at once; if any answers 2xx, it counts as delivered.
      </p>
      {webhooks.map((webhook, index) => (
        <div key={webhook.row} className="webhook-row">
          <div className="webhook-url">
            <TextField
              label={`URL ${index + 1}`}
              hideLabel
              type="url"
              inputMode="url"
              placeholder="https://example.com/hooks/sluice"
              value={webhook.url}
              error={issueAt(issues, `webhooks[${index}].url`) ?? issueAt(issues, `webhooks[${index}]`)}
              onChange={(event) => replace(webhook.row, { url: event.target.value })}
            />
            {webhooks.length > 1 && (
              <IconButton
                icon="close"
                label={`Remove URL ${index + 1}`}
                onClick={() => onChange(webhooks.filter((one) => one.row !== webhook.row))}
              />
            )}
          </div>
          {webhook.disabledReason && (
            <p className="field-error">Disabled until saved: {visibleText(webhook.disabledReason, 200)}.</p>
          )}
          {webhook.headers.map((header) => (
            <div key={header.row} className="header-row">
              <TextField
                label="Header name"
                hideLabel
                placeholder="X-Api-Key"
                value={header.name}
                error={issueAt(issues, `webhooks[${index}].headers[${JSON.stringify(header.name)}]`)}
                onChange={(event) =>
                  replace(webhook.row, {
                    headers: webhook.headers.map((one) =>
                      one.row === header.row ? { ...one, name: event.target.value } : one,
                    ),
                  })
                }
              />
              <TextField
                label="Header value"
                hideLabel
                placeholder="Value"
                value={header.value}
                onChange={(event) =>
                  replace(webhook.row, {
                    headers: webhook.headers.map((one) =>
                      one.row === header.row ? { ...one, value: event.target.value } : one,
                    ),
                  })
                }
              />
              <IconButton
                icon="close"
                label="Remove this header"
                onClick={() =>
                  replace(webhook.row, { headers: webhook.headers.filter((one) => one.row !== header.row) })
                }
              />
            </div>
          ))}
          <div>
            <Button
              look="quiet"
              size="small"
              icon="plus"
              onClick={() => replace(webhook.row, { headers: [...webhook.headers, newHeader()] })}
            >
              Add a header
            </Button>
          </div>
        </div>
      ))}
      {webhooks.length < MOST_WEBHOOKS && (
        <div>
          <Button size="small" icon="plus" onClick={() => onChange([...webhooks, newWebhook()])}>
            Add another URL
          </Button>
        </div>
      )}
    </fieldset>
  );
}

const NEW_SECRET = { kind: "set", value: "", former: "" } as const;

function Secret({
  draft,
  hasSecret,
  error,
  onChange,
}: {
  draft: SettingsDraft["secret"];
  hasSecret: boolean;
  error: string | undefined;
  onChange: (secret: SettingsDraft["secret"]) => void;
}) {
  if (draft.kind === "keep" && hasSecret) {
    return (
      <div className="field">
        <span className="field-label">Shared secret</span>
        <p className="row">
          <span className="soft grow">One is set. Requests are signed; it cannot be shown again.</span>
          <Button size="small" onClick={() => onChange(NEW_SECRET)}>
            Replace
          </Button>
          <Button size="small" look="quiet" onClick={() => onChange({ kind: "remove" })}>
            Remove
          </Button>
        </p>
      </div>
    );
  }
  if (draft.kind === "remove") {
    return (
      <div className="field">
        <span className="field-label">Shared secret</span>
        <p className="row">
          <span className="field-error grow">It is removed when you save; requests are not signed then.</span>
          <Button size="small" onClick={() => onChange({ kind: "keep" })}>
            Keep it
          </Button>
        </p>
      </div>
    );
  }
  const { value, former } = draft.kind === "set" ? draft : NEW_SECRET;
  return (
    <div className="stack">
      <Field
        label="Shared secret"
        optional
        error={error}
        hint="Signs each request: X-Signature is the HMAC-SHA1 of the body. Copy it now, it is not shown again."
      >
        {(wiring) => (
          <div className="with-button">
            <input
              {...wiring}
              className="input mono"
              autoComplete="off"
              spellCheck={false}
              value={value}
              onChange={(event) => onChange({ kind: "set", value: event.target.value, former })}
            />
            {value === "" ? (
              <Button icon="key" onClick={() => onChange({ kind: "set", value: newSecret(), former })}>
                Make one
              </Button>
            ) : (
              <CopyButton text={value} label="Copy the secret" />
            )}
          </div>
        )}
      </Field>
      {hasSecret && (
        <div className="row-apart">
          <TextField
            label="Former secret"
            optional
            className="mono"
            spellCheck={false}
            hint="During a rotation: receivers that still verify with it go on. The new one signs first."
            value={former}
            onChange={(event) => onChange({ kind: "set", value, former: event.target.value })}
          />
          <Button look="quiet" size="small" onClick={() => onChange({ kind: "keep" })}>
            Keep the one that is set
          </Button>
        </div>
      )}
    </div>
  );
}
