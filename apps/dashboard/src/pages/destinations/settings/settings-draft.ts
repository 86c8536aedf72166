/**
 * A destination's settings while somebody edits them. URLs and the secret have a form of their own; all other
 * settings are drawn from the catalog's JSON Schema.
 */
export interface WebhookDraft {
  /** Stable while rows are added and removed. */
  readonly row: number;
  readonly url: string;
  readonly headers: readonly HeaderDraft[];
  /** Why nothing is sent there any more; saving the list of URLs begins anew. */
  readonly disabledReason?: string;
}

export interface HeaderDraft {
  readonly row: number;
  readonly name: string;
  readonly value: string;
}

/** The secret is never read back: it is kept, replaced or removed. */
export type SecretDraft =
  | { readonly kind: "keep" }
  /** `former` is what receivers still know during a rotation; empty: none. */
  | { readonly kind: "set"; readonly value: string; readonly former: string }
  | { readonly kind: "remove" };

export interface SettingsDraft {
  readonly webhooks: readonly WebhookDraft[];
  readonly secret: SecretDraft;
  readonly others: Readonly<Record<string, unknown>>;
}

/** Settings with a form of their own. */
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
  return { webhooks: [newWebhook()], secret: { kind: "keep" }, others: {} };
}

interface ShownWebhook {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly disabled?: { readonly reason: string };
}

/** The settings as the API shows them, to be edited. */
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
    secret: { kind: "keep" },
    others,
  };
}

/** What is sent to the API. Rows that were left empty are left out. */
export function settingsOf(
  draft: SettingsDraft,
  properties: ReadonlySet<string>,
): Readonly<Record<string, unknown>> {
  const settings: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(draft.others)) {
    if (properties.has(name) && !OWN_FORM.has(name) && value !== undefined) settings[name] = value;
  }
  if (properties.has("webhooks")) {
    settings.webhooks = draft.webhooks
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
  if (properties.has("sharedSecret")) {
    if (draft.secret.kind === "set" && draft.secret.value !== "") {
      const { value, former } = draft.secret;
      settings.sharedSecret = former === "" ? value : [value, former];
    }
    if (draft.secret.kind === "remove") settings.sharedSecret = null;
  }
  return settings;
}

/** 32 bytes of chance as text, for whoever has no secret at hand. */
export function newSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
