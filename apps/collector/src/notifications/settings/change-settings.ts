import type { NotificationSettingsPatch } from "@sluice/control-api";
import type { SettingsIssue } from "../../destinations/destination.js";
import type { SecretBox } from "../../destinations/secret-box.js";
import type { EmailSettings, NotificationSettings, WebhookSettings } from "./notification-settings.js";

export type SettingsChange =
  | { readonly ok: true; readonly settings: NotificationSettings }
  | { readonly ok: false; readonly issues: readonly SettingsIssue[] };

/** Merges a change into the settings, checks the result, and seals the secrets. */
export function changeSettings(
  before: NotificationSettings,
  { kinds, minIntervalMs, webhook, email }: NotificationSettingsPatch,
  secrets: SecretBox,
): SettingsChange {
  const issues: SettingsIssue[] = [];
  const { webhook: webhookBefore, email: emailBefore, ...rest } = before;
  const newWebhook =
    webhook === null
      ? undefined
      : webhook === undefined
        ? webhookBefore
        : mergeWebhook(webhookBefore, webhook, secrets, issues);
  const newEmail =
    email === null
      ? undefined
      : email === undefined
        ? emailBefore
        : mergeEmail(emailBefore, email, secrets, issues);
  if (issues.length > 0) return { ok: false, issues };
  return {
    ok: true,
    settings: {
      ...rest,
      ...(kinds === undefined ? {} : { kinds: [...new Set(kinds)] }),
      ...(minIntervalMs === undefined ? {} : { minIntervalMs }),
      ...(newWebhook === undefined ? {} : { webhook: newWebhook }),
      ...(newEmail === undefined ? {} : { email: newEmail }),
    },
  };
}

type WebhookPatch = NonNullable<NotificationSettingsPatch["webhook"]>;

function mergeWebhook(
  before: WebhookSettings | undefined,
  { url = before?.url ?? "", sharedSecret }: WebhookPatch,
  secrets: SecretBox,
  issues: SettingsIssue[],
): WebhookSettings {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol) || parsed.username + parsed.password !== "")
    issues.push(
      invalid(
        "webhook.url",
        "The webhook needs a full URL with http or https, without a user name or password",
      ),
    );
  if (sharedSecret === undefined && before === undefined)
    issues.push(
      invalid("webhook.sharedSecret", "The webhook needs a shared secret, which signs the notifications"),
    );
  return {
    url: parsed?.href ?? url,
    sharedSecret: sharedSecret === undefined ? (before?.sharedSecret ?? "") : secrets.seal(sharedSecret),
  };
}

type EmailPatch = NonNullable<NotificationSettingsPatch["email"]>;

function mergeEmail(
  before: EmailSettings | undefined,
  patch: EmailPatch,
  secrets: SecretBox,
  issues: SettingsIssue[],
): EmailSettings {
  const { password: sealedBefore, user: userBefore, ...rest } = { ...EMPTY_EMAIL, ...before };
  const { password, user = userBefore, ...changes } = patch;
  const merged = { ...rest, ...changes };
  const sealed =
    password === undefined ? sealedBefore : password === null ? undefined : secrets.seal(password);
  issues.push(...addressIssues(merged));
  if ((typeof user === "string") !== (sealed !== undefined))
    issues.push(invalid("email.password", "User name and password go together: set both, or neither"));
  // Else a new server would be sent the password of the old one.
  const isMoved = before !== undefined && (merged.host !== before.host || merged.port !== before.port);
  if (isMoved && sealedBefore !== undefined && password === undefined)
    issues.push(invalid("email.password", "Enter the password again: the mail server was changed"));
  if (merged.security === "none" && sealed !== undefined)
    issues.push(
      invalid("email.security", "A password is only sent over an encrypted connection: use tls or starttls"),
    );
  return {
    ...merged,
    ...(typeof user === "string" ? { user } : {}),
    ...(sealed === undefined ? {} : { password: sealed }),
  };
}

function addressIssues({ host, from, to }: Pick<EmailSettings, "host" | "from" | "to">): SettingsIssue[] {
  return [
    ...(HOST.test(host) ? [] : [invalid("email.host", "The mail server needs a host name or an address")]),
    ...(ADDRESS.test(from)
      ? []
      : [invalid("email.from", "The sender must be an address such as sluice@example.com")]),
    ...(to.length > 0 ? [] : [invalid("email.to", "At least one address is needed")]),
    ...to.flatMap((address, index) =>
      ADDRESS.test(address)
        ? []
        : [invalid(`email.to[${index}]`, `${JSON.stringify(address)} is not an email address`)],
    ),
  ];
}

const EMPTY_EMAIL: EmailSettings = { host: "", port: 587, security: "starttls", from: "", to: [] };
const HOST = /^[A-Za-z0-9._:-]{1,253}$/;
/** One plain address, without a display name: no character in it can begin another header or recipient. */
const ADDRESS = /^[^\s@<>(),;:"[\]\\\p{Cc}]{1,64}@[^\s@<>(),;:"[\]\\\p{Cc}]{1,255}$/u;

function invalid(path: string, message: string): SettingsIssue {
  return { path, code: "invalid_value", message };
}
