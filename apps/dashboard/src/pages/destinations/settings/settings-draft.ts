/**
 * The form of a destination's settings, as typed. URLs and the secret of webhooks have fields of their own; all other
 * fields follow from the catalog's JSON Schema.
 */
export interface WebhookDraft {
  /** A stable id for React. */
  readonly row: number;
  readonly url: string;
  readonly headers: readonly HeaderDraft[];
  /** Why nothing is sent to this URL. Saving the list of URLs enables it again. */
  readonly disabledReason?: string;
}

export interface HeaderDraft {
  readonly row: number;
  readonly name: string;
  readonly value: string;
}

/** The secret of webhooks: undefined is kept, null removed. `former` is what receivers still use during a rotation, if any. */
export type SecretDraft = { readonly value: string; readonly former: string } | null | undefined;

export interface SettingsDraft {
  readonly webhooks: readonly WebhookDraft[];
  readonly secret: SecretDraft;
  readonly others: Readonly<Record<string, unknown>>;
}

/** Settings with fields of their own. */
export const OWN_FORM: ReadonlySet<string> = new Set(["webhooks", "webhookUrl", "sharedSecret"]);

let lastRow = 0;

export function newWebhook(url = "", headers: readonly HeaderDraft[] = []): WebhookDraft {
  lastRow += 1;
  return { row: lastRow, url, headers };
}

export function newHeader(name = "", value = ""): HeaderDraft {
  lastRow += 1;
  return { row: lastRow, name, value };
}

export function emptyDraft(): SettingsDraft {
  return { webhooks: [newWebhook()], secret: undefined, others: {} };
}

interface ShownWebhook {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly disabled?: { readonly reason: string };
}

/** The draft of stored settings. */
export function draftOf(settings: Readonly<Record<string, unknown>>): SettingsDraft {
  const { webhooks, sharedSecret: _secret, ...others } = settings;
  const list = Array.isArray(webhooks) ? webhooks : [];
  return {
    webhooks: list.map(({ url, headers, disabled }: ShownWebhook) => ({
      ...newWebhook(
        url,
        Object.entries(headers ?? {}).map(([name, value]) => newHeader(name, value)),
      ),
      ...(disabled === undefined ? {} : { disabledReason: disabled.reason }),
    })),
    secret: undefined,
    others,
  };
}

interface PropertySchema {
  readonly required?: unknown;
  readonly properties?: { readonly [name: string]: PropertySchema };
}

/** Whether a group of settings has none of those that it needs, and so is left out. */
function lacksAll(value: unknown, { properties }: PropertySchema = {}): boolean {
  if (properties === undefined) return false;
  const given = (value ?? {}) as Readonly<Record<string, unknown>>;
  return Object.entries(properties).every(
    ([name, { required }]) => required !== true || (given[name] ?? null) === null,
  );
}

/** The settings for the API, without empty rows: those that the type's schema has. */
export function settingsOf(
  draft: SettingsDraft,
  { properties = {} }: { readonly properties?: { readonly [name: string]: PropertySchema } },
): Readonly<Record<string, unknown>> {
  const settings: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(draft.others)) {
    if (!(name in properties) || OWN_FORM.has(name) || value === undefined) continue;
    const isEmpty = Array.isArray(value) && linesOf(value).length === 0;
    if (isEmpty || lacksAll(value, properties[name])) settings[name] = null;
    else settings[name] = Array.isArray(value) ? linesOf(value) : value;
  }
  if ("webhooks" in properties) settings.webhooks = webhooksOf(draft.webhooks);
  if ("sharedSecret" in properties) Object.assign(settings, secretOf(draft.secret));
  return settings;
}

/** The lines of a list that have a text. */
function linesOf(lines: unknown): readonly string[] {
  return (Array.isArray(lines) ? lines : []).map((line) => String(line).trim()).filter((line) => line !== "");
}

/** The first row stays even if it is empty, so that the API reports the missing URL. */
function webhooksOf(rows: readonly WebhookDraft[]): readonly object[] {
  return rows
    .filter(({ url, headers }, index) => url.trim() !== "" || headers.length > 0 || index === 0)
    .map(({ url, headers }) => {
      const named = headers.filter(({ name }) => name.trim() !== "");
      return {
        url: url.trim(),
        ...(named.length === 0
          ? {}
          : { headers: Object.fromEntries(named.map(({ name, value }) => [name.trim(), value])) }),
      };
    });
}

function secretOf(secret: SecretDraft): { readonly sharedSecret?: string | readonly string[] | null } {
  if (secret === null) return { sharedSecret: null };
  if (secret === undefined || secret.value === "") return {};
  return { sharedSecret: secret.former === "" ? secret.value : [secret.value, secret.former] };
}

/** 32 random bytes as hexadecimal text. */
export function newSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
