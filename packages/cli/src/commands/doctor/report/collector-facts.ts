import { type AdminClient, AdminError } from "@sluice/admin-client";
import { CommandFailure } from "../../../failures.js";

/** Gives each id a number, so that a report can tell things apart without naming them. */
export class Aliases {
  readonly #known = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  /** `source-1` for the first id of the kind `source`; the same id always gets the same alias. */
  of(kind: string, id: string): string {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    const alias = `${kind}-${count}`;
    this.#known.set(id, alias);
    return alias;
  }
}

const CODE = /^[A-Z][A-Z0-9_]{2,40}$/;

/** A short code for an error. Its message could contain addresses, paths and names. */
export function failureCode(error: unknown): string {
  if (error instanceof AdminError) return `http_${error.status}`;
  if (error instanceof CommandFailure) return error.exit;
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as { readonly code?: unknown };
    if (typeof code === "string" && CODE.test(code)) return code;
  }
  return error instanceof Error && /^[A-Za-z]{1,40}$/.test(error.name) ? error.name : "unknown";
}

/** The code of the operating system or of the database in a text, such as `ENOSPC`. */
export function codeInText(text: string): string | undefined {
  return /\b(?:E[A-Z0-9]{2,20}|(?:ERR_)?SQLITE_[A-Z_]{1,40})\b/.exec(text)?.[0];
}

/** Labels and fields with a fixed set of values. */
const FIXED_LABELS = new Set([
  "access",
  "cause",
  "channel",
  "code",
  "health",
  "kind",
  "le",
  "major",
  "minor",
  "mode",
  "node",
  "patch",
  "quantile",
  "result",
  "route",
  "signal",
  "space",
  "state",
  "status",
  "type",
  "version",
]);
/** Values of other labels that are no ids. All others are replaced by aliases. */
const FIXED_VALUES = new Set(["audiences", "none", "other"]);

const SAMPLE = /^((?:sluice|process|nodejs)_\w+)(?:\{(.*)\})? ([-+\w.]+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;
const FIXED_TEXT = /^[\w.+:/*-]{1,100}$/;

/** The samples of metrics in Prometheus' text format, without what could name something of the user. Unknown lines are left out. */
export function maskedMetrics(
  text: string,
  aliases: Aliases,
): { readonly [series: string]: number | string } {
  return Object.fromEntries(
    text.split("\n").flatMap((line) => {
      const [, name, labels, value] = SAMPLE.exec(line) ?? [];
      if (name === undefined || value === undefined) return [];
      const number = Number(value);
      // JSON has no infinity and no NaN.
      return [[seriesName(name, labels, aliases), Number.isFinite(number) ? number : String(number)]];
    }),
  );
}

function seriesName(name: string, labels: string | undefined, aliases: Aliases): string {
  if (labels === undefined) return name;
  const masked = [...labels.matchAll(LABEL)].map(
    ([, label = "", value = ""]) => `${label}="${maskedValue(label, value, aliases)}"`,
  );
  return `${name}{${masked.join(",")}}`;
}

function maskedValue(label: string, value: string, aliases: Aliases): string {
  if (FIXED_VALUES.has(value)) return value;
  if (FIXED_LABELS.has(label) && FIXED_TEXT.test(value)) return value;
  return aliases.of(label === "consumer" ? "destination" : label, value);
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** An answer of the control API without what could name something of the user: numbers, times, fixed words, and ids as aliases. */
export function maskedAnswer(value: unknown, aliases: Aliases, name = ""): unknown {
  if (typeof value === "number" || typeof value === "boolean") return value;
  if (Array.isArray(value)) return value.map((one) => maskedAnswer(one, aliases, name));
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([field, one]) => [field, maskedAnswer(one, aliases, field)]),
    );
  if (typeof value !== "string") return undefined;
  if (name.endsWith("Id")) return aliases.of(name.slice(0, -2), value);
  if (name === "reason") return codeInText(value);
  return TIME.test(value) || (FIXED_LABELS.has(name) && FIXED_TEXT.test(value)) ? value : undefined;
}

const MAX_FAILURES = 100;

/** What the control API says. A part that cannot be had says why. */
export async function collectorFacts(client: AdminClient, aliases: Aliases) {
  const part = (read: () => Promise<unknown>): Promise<unknown> =>
    read().then(
      (answer) => maskedAnswer(answer, aliases),
      (error: unknown) => ({ unavailable: failureCode(error) }),
    );
  return {
    // The name of a process says where somebody runs it.
    collector: await part(async () => ({ ...(await client.info()), cluster: undefined })),
    health: await part(client.health),
    problems: await part(client.problems),
    failures: await part(async () => {
      const { items } = await client.deliveryGroups.list({ limit: MAX_FAILURES });
      return items.map((group) => ({ ...group, example: undefined }));
    }),
    audiences: await part(client.audiences.engine),
    metrics: await client.metrics().then(
      (text) => maskedMetrics(text, aliases),
      (error: unknown) => ({ unavailable: failureCode(error) }),
    ),
  };
}
