import type { PayloadShape } from "@sluice/protocol";
import type { SettingsResult } from "../../destination.js";
import { readSettings, type SettingReader } from "../../read-settings.js";
import type { SecretBox } from "../../secret-box.js";
import { carriesCredential } from "../request/custom-headers.js";
import { readCaFile } from "./read-ca-file.js";
import { type JudgeUrl, MASK, readWebhooks, type WebhookEntry } from "./read-webhooks.js";
import { WEBHOOKS_SCHEMA } from "./settings-schema.js";

/** A webhook destination's settings as they are stored. */
export interface WebhooksSettings {
  readonly webhooks: readonly WebhookEntry[];
  /** Sealed. The first signs; the second is the previous secret, which receivers may still use. */
  readonly sharedSecrets: readonly string[];
  readonly payload: PayloadShape;
  /** `any`: one URL that succeeds is enough. `each`: every URL must succeed. */
  readonly success: "any" | "each";
  readonly order: "none" | "user";
  /** Messages in flight at the same time. */
  readonly concurrency: number;
  /** Messages per second. */
  readonly rateLimit?: number;
  readonly standardWebhooks: boolean;
  /** Absent: each message has a request of its own. */
  readonly batch?: BatchSettings;
  /** The file on the collector's machine from which `caPem` was read. */
  readonly caFile?: string;
  /** Additional certificate authorities, as they were when the settings were saved; the file is not opened again. */
  readonly caPem?: string;
}

export interface BatchSettings {
  readonly maxMessages: number;
  /** How long the first message of a batch waits for others. */
  readonly maxAgeMs: number;
}

export interface ParseDeps {
  readonly secrets: SecretBox;
  readonly judgeUrl: JudgeUrl;
}

export async function parseWebhooksSettings(
  input: unknown,
  previousSettings: unknown,
  { secrets, judgeUrl }: ParseDeps,
): Promise<SettingsResult> {
  const previous = previousSettings as WebhooksSettings | undefined;
  // A destination that was stored before the setting existed stays without the headers.
  const kept = previous && { ...previous, standardWebhooks: previous.standardWebhooks ?? false };
  const webhookUrl = (input as { readonly webhookUrl?: unknown } | null)?.webhookUrl;
  return readSettings<WebhooksSettings>(input, kept, {
    schema: WEBHOOKS_SCHEMA,
    readers: {
      webhooks: async (list, refuse) => ({
        webhooks: await readWebhooks(list, webhookUrl, {
          secrets,
          judgeUrl,
          refuse,
          previous: previous?.webhooks,
        }),
      }),
      webhookUrl: () => ({}),
      sharedSecret: sharedSecretReader(secrets, previous?.sharedSecrets),
      caFile: caFileReader(previous),
    },
  });
}

function sharedSecretReader(
  secrets: SecretBox,
  previous: readonly string[] = [],
): SettingReader<WebhooksSettings> {
  return (value, refuse) => {
    if (value === undefined) return { sharedSecrets: previous };
    if (value === null) return { sharedSecrets: [] };
    const list: readonly unknown[] = Array.isArray(value) ? value : [value];
    const texts = list.filter((secret) => typeof secret === "string" && secret !== "") as string[];
    if (list.length === 0 || list.length > 2)
      refuse("sharedSecret", "invalid_value", "sharedSecret must be one secret, or two during a rotation");
    else if (texts.length < list.length)
      refuse(
        "sharedSecret",
        "invalid_value",
        "A shared secret must be a string that is not empty; null removes it",
      );
    return { sharedSecrets: texts.map((text) => secrets.seal(text)) };
  };
}

function caFileReader(previous: WebhooksSettings | undefined): SettingReader<WebhooksSettings> {
  return async (path, refuse) => {
    if (path === undefined) {
      const { caFile, caPem } = previous ?? {};
      return { ...(caFile === undefined ? {} : { caFile }), ...(caPem === undefined ? {} : { caPem }) };
    }
    if (path === null) return {};
    if (typeof path !== "string") {
      refuse("caFile", "invalid_value", "caFile must be the path of a file");
      return {};
    }
    const read = await readCaFile(path);
    if (read.kind === "read") return { caFile: path, caPem: read.pem };
    refuse("caFile", "invalid_value", read.message);
    return {};
  };
}

/** The settings as answers show them: credentials masked, and only whether a secret is set. */
export function describeWebhooksSettings(
  settings: WebhooksSettings,
  secrets: SecretBox,
): { readonly [name: string]: unknown } {
  const { webhooks, sharedSecrets, caPem: _, ...rest } = settings;
  return {
    webhooks: webhooks.map(({ url, headers, disabled }) => ({
      url,
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, sealed]) => [
          name,
          carriesCredential(name) ? MASK : openOr(MASK, secrets, sealed),
        ]),
      ),
      ...(disabled === undefined ? {} : { disabled }),
    })),
    sharedSecretSet: sharedSecrets.length > 0,
    ...rest,
  };
}

/** If the secret key was replaced, the value cannot be shown, but the rest of the destination can. */
function openOr(fallback: string, secrets: SecretBox, sealed: string): string {
  try {
    return secrets.open(sealed);
  } catch {
    return fallback;
  }
}

/** The settings after a URL answered 410: it is disabled. */
export function withoutUrl(
  settings: WebhooksSettings,
  url: string,
  reason: string,
  atMs: number,
): WebhooksSettings {
  const disabled = { at: new Date(atMs).toISOString(), reason };
  return {
    ...settings,
    webhooks: settings.webhooks.map((entry) =>
      entry.url === url && entry.disabled === undefined ? { ...entry, disabled } : entry,
    ),
  };
}
