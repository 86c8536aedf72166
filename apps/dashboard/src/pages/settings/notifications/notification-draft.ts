import type { IncidentKind, NotificationSettingsPatch, NotificationSettingsView } from "@sluice/control-api";

import { type DurationDraft, durationDraft, durationMs } from "../../../forms/duration/duration-draft.js";

/** The control API's default. */
const MIN_INTERVAL_MS = 3_600_000;

/** The form of the notification settings, as typed. Secrets are empty unless they are replaced. */
export interface NotificationDraft {
  readonly kinds: readonly IncidentKind[];
  readonly minInterval: DurationDraft;
  readonly webhook: { readonly isOn: boolean; readonly url: string; readonly secret: string };
  readonly email: {
    readonly isOn: boolean;
    readonly host: string;
    readonly port: string;
    readonly security: "tls" | "starttls" | "none";
    readonly user: string;
    readonly password: string;
    readonly from: string;
    readonly to: string;
  };
}

export function notificationDraft(settings: NotificationSettingsView): NotificationDraft {
  const { kinds, minIntervalMs, webhook, email } = settings;
  return {
    kinds,
    minInterval: durationDraft(minIntervalMs, "minutes"),
    webhook: { isOn: webhook !== undefined, url: webhook?.url ?? "", secret: "" },
    email: {
      isOn: email !== undefined,
      host: email?.host ?? "",
      port: String(email?.port ?? 587),
      security: email?.security ?? "starttls",
      user: email?.user ?? "",
      password: "",
      from: email?.from ?? "",
      to: email?.to.join(", ") ?? "",
    },
  };
}

/** The change for the API. An empty secret is kept; without a user name, the password is removed. */
export function notificationPatch(
  { kinds, minInterval, webhook, email }: NotificationDraft,
  version: number,
): NotificationSettingsPatch {
  const { secret } = webhook;
  const { isOn, port, user, password, to, ...rest } = email;
  return {
    version,
    kinds,
    minIntervalMs: durationMs(minInterval) ?? MIN_INTERVAL_MS,
    webhook: webhook.isOn
      ? { url: webhook.url.trim(), ...(secret === "" ? {} : { sharedSecret: secret }) }
      : null,
    email: isOn
      ? {
          ...rest,
          host: rest.host.trim(),
          from: rest.from.trim(),
          port: Number(port),
          to: to.split(/[,\s]+/).filter((address) => address !== ""),
          user: user.trim() === "" ? null : user.trim(),
          ...(user.trim() === "" ? { password: null } : password === "" ? {} : { password }),
        }
      : null,
  };
}
