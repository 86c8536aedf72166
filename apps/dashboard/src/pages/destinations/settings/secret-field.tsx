import type { ReactNode } from "react";
import { Button } from "../../../ui/controls/button.js";
import { CopyButton } from "../../../ui/controls/copy-button.js";
import { Field, TextField } from "../../../ui/controls/field.js";
import { newSecret, type SecretDraft } from "./settings-draft.js";

const NEW_SECRET = { kind: "set", value: "", former: "" } as const;

/** The shared secret. The API never returns it: it is kept, replaced or removed. */
export function SecretField({
  draft,
  hasSecret,
  error,
  onChange,
}: {
  draft: SecretDraft;
  hasSecret: boolean;
  error: string | undefined;
  onChange: (secret: SecretDraft) => void;
}) {
  if (draft.kind === "keep" && hasSecret) {
    return (
      <SecretState label="Shared secret" text="Set. Requests are signed. It cannot be shown again.">
        <Button size="small" onClick={() => onChange(NEW_SECRET)}>
          Replace
        </Button>
        <Button size="small" look="quiet" onClick={() => onChange({ kind: "remove" })}>
          Remove
        </Button>
      </SecretState>
    );
  }
  if (draft.kind === "remove") {
    return (
      <SecretState label="Shared secret" text="Saving removes it. Requests are then no longer signed." isBad>
        <Button size="small" onClick={() => onChange({ kind: "keep" })}>
          Keep it
        </Button>
      </SecretState>
    );
  }
  const secret = draft.kind === "set" ? draft : NEW_SECRET;
  return (
    <div className="stack">
      <NewSecret secret={secret} error={error} onChange={onChange} />
      {hasSecret && <FormerSecret secret={secret} onChange={onChange} />}
    </div>
  );
}

/** What is known of a stored secret, and what can be done with it. */
export function SecretState({
  label,
  text,
  isBad = false,
  children,
}: {
  label: string;
  text: string;
  isBad?: boolean;
  children: ReactNode;
}) {
  return (
    <div className="field">
      <span className="field-label">{label}</span>
      <p className="row">
        <span className={isBad ? "field-error grow" : "soft grow"}>{text}</span>
        {children}
      </p>
    </div>
  );
}

interface SecretProps {
  readonly secret: Extract<SecretDraft, { kind: "set" }>;
  readonly onChange: (secret: SecretDraft) => void;
}

function NewSecret({ secret, error, onChange }: SecretProps & { error: string | undefined }) {
  return (
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
            value={secret.value}
            onChange={(event) => onChange({ ...secret, value: event.target.value })}
          />
          {secret.value === "" ? (
            <Button icon="key" onClick={() => onChange({ ...secret, value: newSecret() })}>
              Generate
            </Button>
          ) : (
            <CopyButton text={secret.value} label="Copy the secret" />
          )}
        </div>
      )}
    </Field>
  );
}

function FormerSecret({ secret, onChange }: SecretProps) {
  return (
    <div className="row-apart">
      <TextField
        label="Previous secret"
        optional
        className="mono"
        spellCheck={false}
        hint="For rotation. Receivers that still use the previous secret keep working."
        value={secret.former}
        onChange={(event) => onChange({ ...secret, former: event.target.value })}
      />
      <Button look="quiet" size="small" onClick={() => onChange({ kind: "keep" })}>
        Keep the current one
      </Button>
    </div>
  );
}
