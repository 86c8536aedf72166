import type { DestinationView } from "@sluice/control-api";
import type { Io } from "../../terminal/io.js";
import { shellWord } from "../../terminal/shell-word.js";
import { table } from "../../terminal/table.js";
import { terminalJson, terminalText } from "../../terminal/terminal-text.js";

type Settings = DestinationView["settings"];

interface Webhook {
  readonly url: string;
  /** The names of its headers; values are not shown. */
  readonly headers: readonly string[];
  /** Why nothing is sent to it; undefined if it is in use. */
  readonly disabled: string | undefined;
}

/** The URLs in a destination's settings. Empty for types without URLs. */
export function webhooksOf(settings: Settings): Webhook[] {
  if (!Array.isArray(settings.webhooks)) return [];
  return settings.webhooks.flatMap((entry: unknown) => {
    const { url, headers, disabled } = (entry ?? {}) as {
      readonly url?: unknown;
      readonly headers?: object;
      readonly disabled?: { readonly reason?: string };
    };
    if (typeof url !== "string") return [];
    const reason = disabled === undefined ? undefined : (disabled.reason ?? "disabled");
    return [{ url, headers: Object.keys(headers ?? {}), disabled: reason }];
  });
}

export function destinationsTable(destinations: readonly DestinationView[], io: Io): string {
  return table(
    ["ID", "NAME", "TYPE", "ENABLED", "SOURCES"],
    destinations.map(({ id, name, type, enabled, sourceIds }) => [
      id,
      name,
      type,
      enabled ? "yes" : "no",
      sourceIds.join(" "),
    ]),
    io.style.bold,
  );
}

/** A destination with its settings and a command to try it. */
export function destinationText(destination: DestinationView, io: Io): string {
  const next = `npx sluice destinations test ${shellWord(destination.name)}`;
  return `${destinationsTable([destination], io)}${settingsLines(destination.settings)}${io.style.dim(`Try it: ${terminalText(next)}`)}\n`;
}

/** One line per setting. Of a secret it only says whether it is set. */
function settingsLines(settings: Settings): string {
  const { webhooks: _, ...rest } = settings;
  const urls = webhooksOf(settings).map(({ url, headers, disabled }) => {
    const extra = headers.length === 0 ? "" : `  (headers: ${headers.join(", ")})`;
    const state = disabled === undefined ? "" : `  DISABLED: ${disabled}`;
    return ["URL", `${url}${extra}${state}`] as const;
  });
  const others = Object.entries(rest).map(([name, value]) =>
    name === "sharedSecretSet"
      ? (["secret", value === true ? "set" : "not set"] as const)
      : ([name, typeof value === "string" ? value : terminalJson(value)] as const),
  );
  return [...urls, ...others].map(([name, value]) => `  ${name}: ${terminalText(value)}\n`).join("");
}
