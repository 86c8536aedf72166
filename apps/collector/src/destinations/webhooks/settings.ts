import { isPlainObject, LIMITS, type PayloadShape } from "@sluice/protocol";
import type { SettingsIssue, SettingsResult } from "../destination.js";
import type { SecretBox } from "../secret-box.js";
import { carriesCredential, headerProblem } from "./custom-headers.js";
import { readCaFile } from "./read-ca-file.js";

/** A webhook destination's settings as they are kept. */
export interface WebhooksSettings {
  readonly webhooks: readonly WebhookEntry[];
  /** Sealed; the first signs, the second is a former one that receivers may still know. */
  readonly sharedSecrets: readonly string[];
  readonly payload: PayloadShape;
  /** `any`: one URL that succeeds is enough. `each`: every URL has to. */
  readonly success: "any" | "each";
  readonly order: "none" | "user";
  readonly concurrency: number;
  /** Messages a second. */
  readonly rateLimit?: number;
  readonly standardWebhooks: boolean;
  /** Where `caPem` was read, on the collector's machine. */
  readonly caFile?: string;
  /**
   * Further authorities to trust, as they were when the settings were saved: the file is not opened again. Absent in settings that
   * were kept before it was.
   */
  readonly caPem?: string;
}

export interface WebhookEntry {
  readonly url: string;
  /** Values sealed. */
  readonly headers: { readonly [name: string]: string };
  /** Set when the URL answered 410: nothing is sent there until the list of webhooks is saved again. */
  readonly disabled?: { readonly at: string; readonly reason: string };
}

export const WEBHOOKS_DEFAULTS = {
  payload: "full",
  success: "any",
  order: "none",
  /** Requests under way at one time for a URL. */
  concurrency: 50,
  /** Of destinations made from now on; kept settings say their own. Without a shared secret nothing is signed. */
  standardWebhooks: true,
} as const;

const MOST_HEADERS = 50;
const LONGEST_URL = 2_048;
/** Stands for a header's value in answers; sent back, it means the one that is kept. */
export const MASK = "••••••••";

export const WEBHOOKS_SCHEMA: object = {
  type: "object",
  additionalProperties: false,
  properties: {
    webhooks: {
      title: "Webhooks",
      description: "The URLs that every message is posted to",
      type: "array",
      minItems: 1,
      maxItems: LIMITS.webhooksPerDestination,
      items: {
        type: "object",
        required: ["url"],
        additionalProperties: false,
        properties: {
          url: {
            title: "Webhook URL",
            description: "Full URL, with http or https",
            type: "string",
            format: "uri",
            maxLength: LONGEST_URL,
          },
          headers: {
            title: "Headers",
            description:
              "Sent with each request. Values of headers that carry credentials are not shown again, and no value to a read-only token",
            type: "object",
            additionalProperties: { type: "string" },
          },
        },
      },
    },
    webhookUrl: {
      title: "Webhook URL",
      description: "The older form: one URL, without headers",
      type: "string",
      format: "uri",
      deprecated: true,
    },
    sharedSecret: {
      title: "Shared secret",
      description:
        "Signs each request (X-Signature). During a rotation a list of two, of which the first signs. Write-only; null removes it",
      type: ["string", "array", "null"],
      items: { type: "string", minLength: 1 },
      minItems: 1,
      maxItems: 2,
      minLength: 1,
      writeOnly: true,
    },
    payload: {
      title: "Body",
      description: "full: all that the message carried. classic: the fields of the documented table only",
      type: "string",
      enum: ["full", "classic"],
      default: WEBHOOKS_DEFAULTS.payload,
    },
    success: {
      title: "Success",
      description: "any: one URL that succeeds is enough. each: every URL is retried until it has succeeded",
      type: "string",
      enum: ["any", "each"],
      default: WEBHOOKS_DEFAULTS.success,
    },
    order: {
      title: "Order",
      description: "user: a user's messages arrive in order, and a failing one holds back that user",
      type: "string",
      enum: ["none", "user"],
      default: WEBHOOKS_DEFAULTS.order,
    },
    concurrency: {
      title: "Concurrency",
      description: "Messages under way at one time",
      type: "integer",
      minimum: 1,
      maximum: 1_000,
      default: WEBHOOKS_DEFAULTS.concurrency,
    },
    rateLimit: {
      title: "Rate limit",
      description: "Messages a second; null: no limit",
      type: ["number", "null"],
      exclusiveMinimum: 0,
    },
    standardWebhooks: {
      title: "Standard Webhooks headers",
      description:
        "Signs each request with webhook-id, webhook-timestamp and webhook-signature too, so that a recorded one expires. Takes effect with a shared secret",
      type: "boolean",
      default: WEBHOOKS_DEFAULTS.standardWebhooks,
    },
    caFile: {
      title: "CA file",
      description:
        "PEM file on the collector's machine with authorities to trust beside the public ones, at most 1 MB. It is read when the settings are saved: save them again when it has changed",
      type: ["string", "null"],
    },
  },
};

/** Says why requests to a URL would be refused, or undefined. */
export type JudgeUrl = (url: URL) => Promise<string | undefined>;

export interface ParseDeps {
  readonly secrets: SecretBox;
  readonly judgeUrl: JudgeUrl;
}

const KEYS = new Set(Object.keys((WEBHOOKS_SCHEMA as { properties: object }).properties));

export async function parseWebhooksSettings(
  input: unknown,
  previousSettings: unknown,
  { secrets, judgeUrl }: ParseDeps,
): Promise<SettingsResult> {
  const previous = previousSettings as WebhooksSettings | undefined;
  const issues: SettingsIssue[] = [];
  const refuse = (path: string, code: string, message: string): void => {
    issues.push({ path: path === "" ? "settings" : `settings.${path}`, code, message });
  };
  if (!isPlainObject(input)) {
    refuse("", "not_an_object", "The settings must be an object");
    return { ok: false, issues };
  }
  for (const key of Object.keys(input)) {
    if (!KEYS.has(key)) refuse(key, "unknown_setting", `There is no setting ${key}`);
  }

  const pick = <T extends string>(key: string, values: readonly T[], kept: T): T => {
    const value = input[key];
    if (value === undefined) return kept;
    if (value === null) return WEBHOOKS_DEFAULTS[key as "payload"] as T;
    if (values.includes(value as T)) return value as T;
    refuse(key, "invalid_value", `${key} must be one of ${values.join(", ")}`);
    return kept;
  };

  const webhooks = await parseEntries();
  const sharedSecrets = parseSecrets();
  const ca = await parseCaFile();
  const rateLimit = parseNumber(
    "rateLimit",
    previous?.rateLimit,
    (n) => n > 0 && n <= 1e6,
    "a number above 0",
  );
  const concurrency =
    parseNumber(
      "concurrency",
      previous?.concurrency ?? WEBHOOKS_DEFAULTS.concurrency,
      (n) => Number.isInteger(n) && n >= 1 && n <= 1_000,
      "an integer from 1 to 1000",
    ) ?? WEBHOOKS_DEFAULTS.concurrency;
  const standardWebhooks = parseStandardWebhooks();
  const settings: WebhooksSettings = {
    webhooks,
    sharedSecrets,
    payload: pick("payload", ["full", "classic"], previous?.payload ?? WEBHOOKS_DEFAULTS.payload),
    success: pick("success", ["any", "each"], previous?.success ?? WEBHOOKS_DEFAULTS.success),
    order: pick("order", ["none", "user"], previous?.order ?? WEBHOOKS_DEFAULTS.order),
    concurrency,
    ...(rateLimit === undefined ? {} : { rateLimit }),
    standardWebhooks,
    ...ca,
  };
  return issues.length === 0 ? { ok: true, settings } : { ok: false, issues };

  async function parseEntries(): Promise<readonly WebhookEntry[]> {
    const { webhooks: list, webhookUrl } = input as { webhooks?: unknown; webhookUrl?: unknown };
    if (list === undefined && webhookUrl === undefined) {
      if (previous === undefined)
        refuse("webhooks", "required", "At least one webhook with a url is required");
      return previous?.webhooks ?? [];
    }
    if (list !== undefined && webhookUrl !== undefined && webhookUrl !== null) {
      refuse("webhookUrl", "conflict", "Give webhooks or webhookUrl, not both");
      return [];
    }
    if (list === undefined) {
      const entry = await parseEntry({ url: webhookUrl }, "webhookUrl", "webhookUrl");
      return entry === undefined ? [] : [entry];
    }
    if (!Array.isArray(list) || list.length === 0) {
      refuse("webhooks", "required", "webhooks must be a list with at least one entry");
      return [];
    }
    if (list.length > LIMITS.webhooksPerDestination) {
      refuse("webhooks", "too_many", `At most ${LIMITS.webhooksPerDestination} webhooks, got ${list.length}`);
      return [];
    }
    const entries: WebhookEntry[] = [];
    for (const [index, item] of list.entries()) {
      const entry = await parseEntry(item, `webhooks[${index}]`, `webhooks[${index}].url`);
      if (entry === undefined) continue;
      if (entries.some(({ url }) => url === entry.url)) {
        refuse(`webhooks[${index}].url`, "duplicate", "This URL is in the list already");
      } else entries.push(entry);
    }
    return entries;
  }

  async function parseEntry(item: unknown, path: string, urlPath: string): Promise<WebhookEntry | undefined> {
    if (!isPlainObject(item)) {
      refuse(path, "not_an_object", "A webhook must be an object with a url");
      return undefined;
    }
    for (const key of Object.keys(item)) {
      // `disabled` is what answers show: sent back, it says nothing.
      if (!["url", "headers", "disabled"].includes(key))
        refuse(`${path}.${key}`, "unknown_setting", `There is no setting ${key}`);
    }
    const url = await parseUrl(item.url, urlPath);
    const headers = parseHeaders(item.headers, `${path}.headers`, url);
    return url === undefined ? undefined : { url, headers };
  }

  async function parseUrl(value: unknown, path: string): Promise<string | undefined> {
    const bad = (code: string, message: string): undefined => {
      refuse(path, code, message);
      return undefined;
    };
    if (typeof value !== "string" || value === "") return bad("required", "A full URL is required");
    if (value.length > LONGEST_URL) return bad("too_long", `A URL has at most ${LONGEST_URL} characters`);
    if (!/^https?:\/\//i.test(value.trim()) || !URL.canParse(value)) {
      return bad("invalid_url", "A full URL is required, beginning with http:// or https://");
    }
    const url = new URL(value);
    if (url.port === "0")
      return bad("invalid_url", "Nothing can listen on port 0: give the port of the receiver");
    if (url.username !== "" || url.password !== "") {
      return bad(
        "credentials_in_url",
        "A URL may not carry user name or password: use an Authorization header",
      );
    }
    url.hash = "";
    const problem = await judgeUrl(url);
    return problem === undefined ? url.href : bad("address_not_allowed", problem);
  }

  function parseHeaders(value: unknown, path: string, url: string | undefined): { [name: string]: string } {
    const sealed: { [name: string]: string } = {};
    if (value === undefined || value === null) return sealed;
    if (!isPlainObject(value)) {
      refuse(path, "not_an_object", "headers must be an object of names and values");
      return sealed;
    }
    const names = Object.keys(value);
    if (names.length > MOST_HEADERS) refuse(path, "too_many", `At most ${MOST_HEADERS} headers`);
    const seen = new Set<string>();
    const kept = previous?.webhooks.find((entry) => entry.url === url)?.headers ?? {};
    for (const name of names) {
      const problem = seen.has(name.toLowerCase())
        ? `${name} is given twice`
        : headerProblem(name, value[name] === MASK ? "" : value[name]);
      seen.add(name.toLowerCase());
      if (problem !== undefined) {
        refuse(`${path}[${JSON.stringify(name)}]`, "invalid_header", problem);
        continue;
      }
      const before = kept[name];
      if (value[name] !== MASK) sealed[name] = secrets.seal(value[name] as string);
      else if (before !== undefined) sealed[name] = before;
      else
        refuse(`${path}[${JSON.stringify(name)}]`, "invalid_header", `No value of ${name} is kept: give one`);
    }
    return sealed;
  }

  function parseSecrets(): readonly string[] {
    const value = (input as { sharedSecret?: unknown }).sharedSecret;
    if (value === undefined) return previous?.sharedSecrets ?? [];
    if (value === null) return [];
    const list = Array.isArray(value) ? value : [value];
    if (list.length === 0 || list.length > 2) {
      refuse("sharedSecret", "invalid_value", "One secret, or two during a rotation");
      return [];
    }
    if (list.some((secret) => typeof secret !== "string" || secret === "")) {
      refuse(
        "sharedSecret",
        "invalid_value",
        "A shared secret is a string that is not empty; null removes it",
      );
      return [];
    }
    return list.map((secret) => secrets.seal(secret as string));
  }

  function parseStandardWebhooks(): boolean {
    const { standardWebhooks: value } = input as { standardWebhooks?: unknown };
    // A destination of before the setting existed goes on without the headers.
    if (value === undefined && previous !== undefined) return previous.standardWebhooks ?? false;
    if (value === undefined || value === null) return WEBHOOKS_DEFAULTS.standardWebhooks;
    if (typeof value === "boolean") return value;
    refuse("standardWebhooks", "invalid_value", "standardWebhooks must be true or false");
    return false;
  }

  async function parseCaFile(): Promise<Pick<WebhooksSettings, "caFile" | "caPem">> {
    const { caFile: path } = input as { caFile?: unknown };
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
  }

  function parseNumber(
    key: string,
    kept: number | undefined,
    isValid: (value: number) => boolean,
    rule: string,
  ): number | undefined {
    const value = (input as { [key: string]: unknown })[key];
    if (value === undefined) return kept;
    if (value === null) return undefined;
    if (typeof value === "number" && isValid(value)) return value;
    refuse(key, "invalid_value", `${key} must be ${rule}`);
    return kept;
  }
}

/** What answers show: credentials masked, of secrets only how many there are. */
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

/** With a replaced key a value cannot be shown, but the rest of the destination can. */
function openOr(fallback: string, secrets: SecretBox, sealed: string): string {
  try {
    return secrets.open(sealed);
  } catch {
    return fallback;
  }
}

/** The settings after a URL answered 410. */
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
