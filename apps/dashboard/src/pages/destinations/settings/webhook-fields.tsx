import { Button, IconButton } from "../../../ui/controls/button.js";
import { TextField } from "../../../ui/controls/field.js";
import { type FieldIssue, issueAt } from "../../../words/errors.js";
import { visibleText } from "../../../words/messages.js";
import { type HeaderDraft, newHeader, newWebhook, type WebhookDraft } from "./settings-draft.js";

const MOST_WEBHOOKS = 5;

/** The URLs of a webhook destination, each with its own headers. */
export function WebhookFields({
  webhooks,
  issues,
  onChange,
}: {
  webhooks: readonly WebhookDraft[];
  issues: readonly FieldIssue[];
  onChange: (webhooks: readonly WebhookDraft[]) => void;
}) {
  return (
    <fieldset className="stack-tight">
      <legend className="field-label">URLs</legend>
      <p className="field-hint">
        Each message is posted to all URLs at once. It counts as delivered if any of them answers 2xx.
      </p>
      {webhooks.map((webhook, index) => (
        <WebhookRow
          key={webhook.row}
          webhook={webhook}
          index={index}
          issues={issues}
          onChange={(change) =>
            onChange(webhooks.map((one) => (one.row === webhook.row ? { ...one, ...change } : one)))
          }
          {...(webhooks.length > 1 && {
            onRemove: () => onChange(webhooks.filter((one) => one.row !== webhook.row)),
          })}
        />
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

function WebhookRow({
  webhook,
  index,
  issues,
  onChange,
  onRemove,
}: {
  webhook: WebhookDraft;
  index: number;
  issues: readonly FieldIssue[];
  onChange: (change: Partial<WebhookDraft>) => void;
  /** Absent: it is the only one. */
  onRemove?: () => void;
}) {
  const { headers } = webhook;
  return (
    <div className="webhook-row">
      <div className="webhook-url">
        <TextField
          label={`URL ${index + 1}`}
          hideLabel
          type="url"
          inputMode="url"
          placeholder="https://example.com/hooks/sluice"
          value={webhook.url}
          error={issueAt(issues, `webhooks[${index}].url`) ?? issueAt(issues, `webhooks[${index}]`)}
          onChange={(event) => onChange({ url: event.target.value })}
        />
        {onRemove && <IconButton icon="close" label={`Remove URL ${index + 1}`} onClick={onRemove} />}
      </div>
      {webhook.disabledReason && (
        <p className="field-error">Disabled until saved: {visibleText(webhook.disabledReason, 200)}.</p>
      )}
      {headers.map((header) => (
        <HeaderRow
          key={header.row}
          header={header}
          error={issueAt(issues, `webhooks[${index}].headers[${JSON.stringify(header.name)}]`)}
          onChange={(change) =>
            onChange({
              headers: headers.map((one) => (one.row === header.row ? { ...one, ...change } : one)),
            })
          }
          onRemove={() => onChange({ headers: headers.filter((one) => one.row !== header.row) })}
        />
      ))}
      <div>
        <Button
          look="quiet"
          size="small"
          icon="plus"
          onClick={() => onChange({ headers: [...headers, newHeader()] })}
        >
          Add a header
        </Button>
      </div>
    </div>
  );
}

function HeaderRow({
  header,
  error,
  onChange,
  onRemove,
}: {
  header: HeaderDraft;
  error: string | undefined;
  onChange: (change: Partial<HeaderDraft>) => void;
  onRemove: () => void;
}) {
  return (
    <div className="header-row">
      <TextField
        label="Header name"
        hideLabel
        placeholder="X-Api-Key"
        value={header.name}
        error={error}
        onChange={(event) => onChange({ name: event.target.value })}
      />
      <TextField
        label="Header value"
        hideLabel
        placeholder="Value"
        value={header.value}
        onChange={(event) => onChange({ value: event.target.value })}
      />
      <IconButton icon="close" label="Remove this header" onClick={onRemove} />
    </div>
  );
}
