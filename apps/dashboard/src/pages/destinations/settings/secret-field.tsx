import { type ReactNode, useState } from "react";
import { Button, CopyButton } from "../../../ui/controls/button.js";
import { Field, TextField } from "../../../ui/controls/field.js";
import { newSecret, type SecretDraft } from "./settings-draft.js";

/** A secret. The API never returns it: it is kept (undefined), removed (null), or entered in the fields of `children`. */
export function Secret<Value>({
  label,
  value,
  isSet,
  isNeeded = false,
  canRemove = true,
  use = "",
  onChange,
  children,
}: {
  label: string;
  value: Value | null | undefined;
  /** Whether one is stored. */
  isSet: boolean;
  /** Whether it has to be entered again. */
  isNeeded?: boolean;
  canRemove?: boolean;
  /** What it is used for, as a sentence. */
  use?: string;
  onChange: (value: null | undefined) => void;
  /** Gets what to call to keep the stored one. */
  children: (keep: () => void) => ReactNode;
}) {
  const [isOpen, setOpen] = useState(false);
  const keep = () => {
    setOpen(false);
    onChange(undefined);
  };
  const isRemoved = value === null;
  if (!isSet || !(isRemoved || (value === undefined && !isOpen && !isNeeded))) return children(keep);
  return (
    <div className="field">
      <span className="field-label">{label}</span>
      <p className="row">
        <span className={isRemoved ? "field-error grow" : "soft grow"}>
          {isRemoved ? "Saving removes it." : `Set. ${use}`.trim()}
        </span>
        <Button size="small" onClick={isRemoved ? keep : () => setOpen(true)}>
          {isRemoved ? "Keep it" : "Replace"}
        </Button>
        {canRemove && !isRemoved && (
          <Button size="small" look="quiet" onClick={() => onChange(null)}>
            Remove
          </Button>
        )}
      </p>
    </div>
  );
}

const EMPTY = { value: "", former: "" };

/** The shared secret of webhooks. */
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
  const secret = draft ?? EMPTY;
  return (
    <Secret
      label="Shared secret"
      value={draft}
      isSet={hasSecret}
      use="Requests are signed."
      onChange={onChange}
    >
      {(keep) => (
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
                  value={secret.value}
                  onChange={({ target }) => onChange({ ...secret, value: target.value })}
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
          {hasSecret && (
            <div className="row-apart">
              <TextField
                label="Previous secret"
                optional
                className="mono"
                spellCheck={false}
                hint="For rotation. Receivers that still use the previous secret keep working."
                value={secret.former}
                onChange={({ target }) => onChange({ ...secret, former: target.value })}
              />
              <Button look="quiet" size="small" onClick={keep}>
                Keep the current one
              </Button>
            </div>
          )}
        </div>
      )}
    </Secret>
  );
}
