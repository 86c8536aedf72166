import type { DestinationHealthView, DestinationView } from "@sluice/control-api";
import { durationText } from "../../arguments/numbers.js";
import { healthWord } from "../../connection/destination-health.js";
import type { Io } from "../../terminal/io.js";
import { shellWord } from "../../terminal/shell-word.js";
import { table } from "../../terminal/table.js";
import { clip, terminalJson, terminalText } from "../../terminal/terminal-text.js";

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

/** A destination with its health, where the command has read it. */
export interface ListedDestination extends DestinationView {
  readonly health?: DestinationHealthView;
  /** Why it has this health. */
  readonly reason?: string;
  /** Names of its sources, where the command has read them. */
  readonly sources?: readonly string[];
}

/** Characters of a URL that the table shows. */
const URL_WIDTH = 44;

export function destinationsTable(destinations: readonly ListedDestination[], io: Io): string {
  return table(
    ["NAME", "HEALTH", "TYPE", "URL", "SOURCES", "ID"],
    destinations.map(({ id, name, type, enabled, health, settings, sourceIds, sources = sourceIds }) => [
      name,
      health === undefined ? (enabled ? "enabled" : "disabled") : healthWord(health),
      type,
      urlText(settings),
      sources.length === 0 ? "none" : sources.join(", "),
      id,
    ]),
    io.style.bold,
  );
}

/** The first URL, and how many more there are. */
function urlText(settings: Settings): string {
  const [first, ...others] = webhooksOf(settings);
  if (first === undefined) return "";
  return `${clip(first.url, URL_WIDTH)}${others.length === 0 ? "" : ` and ${others.length} more`}`;
}

/** A destination with its settings and a command to try it. */
export function destinationText(destination: ListedDestination, io: Io): string {
  const next = `${io.invocation} destinations test ${shellWord(destination.name)}`;
  return `${destinationsTable([destination], io)}${reasonLine(destination)}${settingsLines(destination.settings)}${retryLine(destination)}${io.style.dim(`Try it: ${terminalText(next)}`)}\n`;
}

function reasonLine({ reason }: ListedDestination): string {
  return reason === undefined ? "" : `  health: ${terminalText(reason)}\n`;
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

/** Attempts to name before "then at most … apart". */
const NAMED_ATTEMPTS = 8;

/** How long failed messages are retried, and when. */
function retryLine({ retryForMs, retrySchedule, notifyAfterMs }: DestinationView): string {
  const { attemptsAtMs, longestGapMs, lastAttemptAfterMs } = retrySchedule;
  const named = attemptsAtMs.slice(0, NAMED_ATTEMPTS).map(roughly).join(", ");
  return `  retries: for ${durationText(retryForMs)}; attempts at ${named} on average, then at most ${roughly(longestGapMs)} apart, the last one between ${roughly(lastAttemptAfterMs)} and ${durationText(retryForMs)}\n  notifies: after failing for ${durationText(notifyAfterMs)}\n`;
}

/** A duration in seconds, or in minutes from five on. */
function roughly(ms: number): string {
  return ms < 300_000
    ? `${Number((ms / 1_000).toFixed(1))}s`
    : durationText(Math.round(ms / 60_000) * 60_000);
}
