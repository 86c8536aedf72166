import { INCIDENT_KINDS, type IncidentKind, type NotificationSettingsView } from "@sluice/control-api";

/** Document of kind `notification_settings`, id `settings`. Secrets are sealed. */
export interface NotificationSettings {
  readonly kinds: readonly IncidentKind[];
  readonly minIntervalMs: number;
  readonly webhook?: WebhookSettings;
  readonly email?: EmailSettings;
}

export interface WebhookSettings {
  readonly url: string;
  readonly sharedSecret: string;
}

export interface EmailSettings {
  readonly host: string;
  readonly port: number;
  readonly security: "tls" | "starttls" | "none";
  readonly user?: string;
  readonly password?: string;
  readonly from: string;
  readonly to: readonly string[];
}

export const SETTINGS_ID = "settings";

export const NO_SETTINGS: NotificationSettings = { kinds: INCIDENT_KINDS, minIntervalMs: 3_600_000 };

/** The settings without secrets. */
export function settingsView(settings: NotificationSettings, version: number): NotificationSettingsView {
  const { kinds, minIntervalMs, webhook, email } = settings;
  const shown = ({ password, ...rest }: EmailSettings) => ({ ...rest, passwordSet: password !== undefined });
  return {
    version,
    kinds,
    minIntervalMs,
    ...(webhook === undefined ? {} : { webhook: { url: webhook.url, sharedSecretSet: true } }),
    ...(email === undefined ? {} : { email: shown(email) }),
  };
}
