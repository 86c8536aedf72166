import type { DestinationView } from "@sluice/protocol";
import { terminalJson, terminalText } from "../../terminal/terminal-text.js";

interface Webhook {
  readonly url: string;
  readonly headers: readonly string[];
  /** Why nothing is sent there any more; undefined: it is called. */
  readonly disabled: string | undefined;
}

/** The URLs among a destination's settings; none where its type has no such list. */
export function webhooksOf(settings: DestinationView["settings"]): Webhook[] {
  if (!Array.isArray(settings.webhooks)) return [];
  return settings.webhooks.flatMap((entry: unknown) => {
    const { url, headers, disabled } = (entry ?? {}) as {
      readonly url?: unknown;
      readonly headers?: object;
      readonly disabled?: { readonly reason?: string };
    };
    if (typeof url !== "string") return [];
    const why = disabled === undefined ? undefined : (disabled.reason ?? "disabled");
    return [{ url, headers: Object.keys(headers ?? {}), disabled: why }];
  });
}

/** A destination's settings, a line each; of secrets only that they are set. */
export function settingsLines(settings: DestinationView["settings"]): string {
  const { webhooks: _, ...rest } = settings;
  const urls = webhooksOf(settings).map(({ url, headers, disabled }) => {
    const extra = headers.length === 0 ? "" : `  (headers: ${headers.join(", ")})`;
    const stopped = disabled === undefined ? "" : `  DISABLED: ${disabled}`;
    return ["URL", `${url}${extra}${stopped}`] as const;
  });
  const others = Object.entries(rest).map(([name, value]) =>
    name === "sharedSecretSet"
      ? (["secret", value === true ? "set" : "not set"] as const)
      : ([name, typeof value === "string" ? value : terminalJson(value)] as const),
  );
  return [...urls, ...others].map(([name, value]) => `  ${name}: ${terminalText(value)}\n`).join("");
}
