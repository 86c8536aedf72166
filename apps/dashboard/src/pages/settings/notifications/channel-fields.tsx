import { Button } from "../../../ui/controls/button.js";
import { Checkbox, SelectField, TextField } from "../../../ui/controls/field.js";
import { type FieldIssue, issueAt } from "../../../words/issues.js";
import { newSecret } from "../../destinations/settings/settings-draft.js";
import type { NotificationDraft } from "./notification-draft.js";

interface ChannelProps<Draft> {
  readonly draft: Draft;
  readonly issues: readonly FieldIssue[];
  readonly onChange: (part: Partial<Draft>) => void;
}

/** The API never returns a secret: an empty field keeps it. */
const KEPT = "Set. Leave it empty to keep it.";

export function WebhookFields({
  draft,
  hasSecret,
  issues,
  onChange,
}: ChannelProps<NotificationDraft["webhook"]> & { hasSecret: boolean }) {
  return (
    <fieldset className="stack-tight">
      <legend className="visually-hidden">Webhook</legend>
      <Checkbox
        label="Post to a webhook"
        hint="JSON, signed as the webhooks of destinations are. Its text field is what Slack shows."
        checked={draft.isOn}
        onChange={(isOn) => onChange({ isOn })}
      />
      {draft.isOn && (
        <div className="stack">
          <TextField
            label="Webhook URL"
            placeholder="https://alerts.example.com/sluice"
            error={issueAt(issues, "webhook.url")}
            value={draft.url}
            onChange={(event) => onChange({ url: event.target.value })}
          />
          <TextField
            label="Webhook secret"
            className="mono"
            spellCheck={false}
            hint={hasSecret ? KEPT : "Signs each notification. Copy it now, it is not shown again."}
            error={issueAt(issues, "webhook.sharedSecret")}
            value={draft.secret}
            onChange={(event) => onChange({ secret: event.target.value })}
          />
          {draft.secret === "" && (
            <div>
              <Button size="small" icon="key" onClick={() => onChange({ secret: newSecret() })}>
                Generate a secret
              </Button>
            </div>
          )}
        </div>
      )}
    </fieldset>
  );
}

export function EmailFields({
  draft,
  hasPassword,
  issues,
  onChange,
}: ChannelProps<NotificationDraft["email"]> & { hasPassword: boolean }) {
  return (
    <fieldset className="stack-tight">
      <legend className="visually-hidden">Email</legend>
      <Checkbox
        label="Send an email"
        hint="Plain text, over your mail server."
        checked={draft.isOn}
        onChange={(isOn) => onChange({ isOn })}
      />
      {draft.isOn && (
        <div className="stack">
          <TextField
            label="To"
            hint="One address or several, separated by commas."
            placeholder="ops@example.com"
            error={issues.find(({ path }) => path.startsWith("email.to"))?.message}
            value={draft.to}
            onChange={(event) => onChange({ to: event.target.value })}
          />
          <TextField
            label="From"
            placeholder="sluice@example.com"
            error={issueAt(issues, "email.from")}
            value={draft.from}
            onChange={(event) => onChange({ from: event.target.value })}
          />
          <ServerFields draft={draft} hasPassword={hasPassword} issues={issues} onChange={onChange} />
        </div>
      )}
    </fieldset>
  );
}

function ServerFields({
  draft,
  hasPassword,
  issues,
  onChange,
}: ChannelProps<NotificationDraft["email"]> & { hasPassword: boolean }) {
  return (
    <>
      <TextField
        label="Mail server"
        placeholder="smtp.example.com"
        error={issueAt(issues, "email.host")}
        value={draft.host}
        onChange={(event) => onChange({ host: event.target.value })}
      />
      <TextField
        label="Port"
        type="number"
        min={1}
        max={65_535}
        error={issueAt(issues, "email.port")}
        value={draft.port}
        onChange={(event) => onChange({ port: event.target.value })}
      />
      <SelectField
        label="Encryption"
        error={issueAt(issues, "email.security")}
        value={draft.security}
        options={[
          ["starttls", "STARTTLS, often on port 587"],
          ["tls", "TLS, often on port 465"],
          ["none", "None: only for a server without a password"],
        ]}
        onChange={(event) =>
          onChange({ security: event.target.value as NotificationDraft["email"]["security"] })
        }
      />
      <TextField
        label="User name"
        optional
        value={draft.user}
        onChange={(event) => onChange({ user: event.target.value })}
      />
      <TextField
        label="Password"
        optional
        type="password"
        autoComplete="new-password"
        hint={hasPassword ? KEPT : undefined}
        error={issueAt(issues, "email.password")}
        value={draft.password}
        onChange={(event) => onChange({ password: event.target.value })}
      />
    </>
  );
}
