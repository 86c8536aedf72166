/**
 * The filter grammar of the debugger, the live stream and `sluice tail`:
 *
 *     type:track event:"Signed Up" user:42 outcome:failed -properties.plan:free checkout
 *
 * Terms stand side by side and all must hold; the same field twice means either. `-` before a term means not,
 * `*` at the end of an unquoted value means "begins with", and a term without a field is text that the message
 * contains. Everything here is pure: the command line, the collector and the dashboard share it.
 */
import { lookUp } from "./compare.js";
import { MESSAGE_KINDS } from "./message.js";

/** Fields with a short name. Besides them any path that begins with properties., traits., context. or integrations. */
export const FILTER_FIELDS = [
  "type",
  "event",
  "name",
  "user",
  "anonymous",
  "group",
  "id",
  "source",
  "destination",
  "outcome",
] as const;
export type FilterField = (typeof FILTER_FIELDS)[number];

const PATH_ROOTS = new Set(["properties", "traits", "context", "integrations"]);
const FIELDS: ReadonlySet<string> = new Set(FILTER_FIELDS);
const OUTCOMES: ReadonlySet<string> = new Set([
  "delivered",
  "pending",
  "failed",
  "filtered",
  "skipped",
  "suppressed",
  "rejected",
]);

export type FilterTerm = {
  readonly negated: boolean;
  readonly value: string;
  /** The value is only a beginning. */
  readonly isPrefix: boolean;
} & (
  | { readonly kind: "field"; readonly field: FilterField }
  | { readonly kind: "path"; readonly path: readonly string[] }
  | { readonly kind: "text" }
);

export interface MessageFilter {
  readonly terms: readonly FilterTerm[];
}

export interface FilterIssue {
  /** Where in the text it is, from 0. */
  readonly at: number;
  readonly message: string;
}

export type FilterParse =
  | { readonly ok: true; readonly filter: MessageFilter }
  | { readonly ok: false; readonly issue: FilterIssue };

/** Holds for everything. */
export const EMPTY_FILTER: MessageFilter = Object.freeze({ terms: [] });

/** What one filter may ask: each term is compared with every message that is looked at. */
export const FILTER_LIMITS = {
  /** Terms of a filter. */
  terms: 50,
  /** Characters of its text. */
  characters: 2_000,
} as const;

/** Reads a filter; an issue says where it goes wrong. Longer ones than `FILTER_LIMITS` allows are refused. */
export function parseFilter(text: string): FilterParse {
  const terms: FilterTerm[] = [];
  if (text.length > FILTER_LIMITS.characters)
    return refuse(FILTER_LIMITS.characters, `A filter may have ${FILTER_LIMITS.characters} characters`);
  let at = 0;
  for (;;) {
    while (at < text.length && isBlank(text[at])) at++;
    if (at >= text.length) return { ok: true, filter: { terms } };
    if (terms.length === FILTER_LIMITS.terms)
      return refuse(at, `A filter may have ${FILTER_LIMITS.terms} terms`);
    const start = at;
    const negated = text[at] === "-" && at + 1 < text.length && !isBlank(text[at + 1]);
    if (negated) at++;
    const name = text[at] === '"' ? undefined : fieldName(text, at);
    if (name !== undefined) at += name.length + 1;
    const value = readValue(text, at);
    if (value === undefined) return refuse(at, "A quotation mark is missing at the end");
    at = value.end;
    if (name === undefined) {
      terms.push({ kind: "text", negated, value: value.text, isPrefix: false });
      continue;
    }
    if (value.text === "" && !value.isQuoted) return refuse(start, `\`${name}:\` needs a value`);
    const common = { negated, value: value.text, isPrefix: value.isPrefix };
    if (FIELDS.has(name)) {
      if (name === "outcome" && !OUTCOMES.has(value.text))
        return refuse(start, `\`outcome\` is one of ${[...OUTCOMES].join(", ")}`);
      if (name === "type" && !MESSAGE_KINDS.some((kind) => isKind(kind, value)))
        return refuse(start, `\`type\` is one of ${MESSAGE_KINDS.join(", ")}`);
      terms.push({ kind: "field", field: name as FilterField, ...common });
      continue;
    }
    const path = name.split(".");
    if (path.length > 1 && PATH_ROOTS.has(path[0] ?? "")) terms.push({ kind: "path", path, ...common });
    else
      return refuse(
        start,
        `\`${name}\` is no field. Fields: ${FILTER_FIELDS.join(", ")}, properties.…, traits.…, context.…; put text that has a colon in quotation marks`,
      );
  }
}

function isKind(kind: string, { text, isPrefix }: ReadValue): boolean {
  return isPrefix ? kind.startsWith(text) : kind === text;
}

function refuse(at: number, message: string): FilterParse {
  return { ok: false, issue: { at, message } };
}

function isBlank(character: string | undefined): boolean {
  return character === " " || character === "\t" || character === "\n" || character === "\r";
}

/** The field name that begins at `at`, when a colon ends it. */
function fieldName(text: string, at: number): string | undefined {
  for (let end = at; end < text.length; end++) {
    const character = text[end];
    if (character === ":") return end === at ? undefined : text.slice(at, end);
    if (character === '"' || isBlank(character)) return undefined;
  }
  return undefined;
}

interface ReadValue {
  readonly text: string;
  readonly end: number;
  readonly isQuoted: boolean;
  readonly isPrefix: boolean;
}

/** A quoted value (`\"` and `\\` stand for themselves) or everything up to the next blank. */
function readValue(text: string, from: number): ReadValue | undefined {
  if (text[from] !== '"') {
    let end = from;
    while (end < text.length && !isBlank(text[end])) end++;
    const isPrefix = end - from > 1 && text[end - 1] === "*";
    return { text: text.slice(from, isPrefix ? end - 1 : end), end, isQuoted: false, isPrefix };
  }
  let value = "";
  for (let at = from + 1; at < text.length; at++) {
    const character = text[at];
    if (character === '"') return { text: value, end: at + 1, isQuoted: true, isPrefix: false };
    if (character === "\\" && (text[at + 1] === '"' || text[at + 1] === "\\")) at++;
    value += text[at];
  }
  return undefined;
}

/** Writes a filter so that `parseFilter` reads the same terms again. */
export function formatFilter(filter: MessageFilter): string {
  return filter.terms
    .map((term) => {
      const name = term.kind === "text" ? "" : `${term.kind === "field" ? term.field : term.path.join(".")}:`;
      return `${term.negated ? "-" : ""}${name}${formatValue(term)}`;
    })
    .join(" ");
}

function formatValue(term: FilterTerm): string {
  if (term.isPrefix) return `${term.value}*`;
  const isPlain = /^[^\s"\\:*-][^\s"\\:*]*$/.test(term.value);
  return isPlain ? term.value : `"${term.value.replace(/["\\]/g, "\\$&")}"`;
}

/** What a filter is asked about. */
export interface FilterSubject {
  readonly messageId: string;
  readonly sourceId: string;
  readonly message: { readonly [field: string]: unknown };
  /** What became of it so far; terms about outcomes look here. */
  readonly outcomes?: readonly { readonly destinationId: string; readonly state: string }[];
}

/** Whether a filter asks about outcomes: then a message alone cannot answer it. */
export function asksOutcomes(filter: MessageFilter): boolean {
  return filter.terms.some(isOutcomeTerm);
}

/** Whether a filter asks about more than outcomes. */
export function asksMessage(filter: MessageFilter): boolean {
  return filter.terms.some((term) => !isOutcomeTerm(term));
}

/** Without the terms about outcomes. */
export function messageTerms(filter: MessageFilter): MessageFilter {
  return { terms: filter.terms.filter((term) => !isOutcomeTerm(term)) };
}

/** Only the terms about outcomes. */
export function outcomeTerms(filter: MessageFilter): MessageFilter {
  return { terms: filter.terms.filter(isOutcomeTerm) };
}

function isOutcomeTerm(term: FilterTerm): boolean {
  return term.kind === "field" && (term.field === "outcome" || term.field === "destination");
}

/** Whether everything that the filter asks holds. */
export function matchesFilter(filter: MessageFilter, subject: FilterSubject): boolean {
  return compileFilter(filter)(subject);
}

/** The filter as a question that is asked of many: its terms are sorted once, and of each message no value is written as text twice. */
export function compileFilter({ terms }: MessageFilter): (subject: FilterSubject) => boolean {
  const outcomes = terms.filter(isOutcomeTerm);
  const unwanted: FilterTerm[] = [];
  const required: FilterTerm[] = [];
  /** The same field twice means either. */
  const either = new Map<string, FilterTerm[]>();
  for (const term of terms) {
    if (isOutcomeTerm(term)) continue;
    if (term.negated) unwanted.push(term);
    else if (term.kind === "text") required.push(term);
    else {
      const name = term.kind === "field" ? term.field : term.path.join(".");
      either.set(name, [...(either.get(name) ?? []), term]);
    }
  }
  const anyOf = [...either.values()];
  return (subject) => {
    const texts = new Texts();
    const holds = (term: FilterTerm): boolean => holdsFor(term, subject, texts);
    return (
      (outcomes.length === 0 || matchesOutcomes(outcomes, subject.outcomes ?? [])) &&
      !unwanted.some(holds) &&
      anyOf.every((alternatives) => alternatives.some(holds)) &&
      required.every(holds)
    );
  };
}

/** Values of one message as text. */
class Texts {
  readonly #json = new Map<object, string>();
  #lowerCase: string | undefined;

  of(value: unknown): string {
    if (typeof value === "string") return value;
    if (typeof value !== "object" || value === null) return JSON.stringify(value);
    const known = this.#json.get(value) ?? JSON.stringify(value);
    this.#json.set(value, known);
    return known;
  }

  /** The whole message, in lower case. */
  all(message: object): string {
    this.#lowerCase ??= JSON.stringify(message).toLowerCase();
    return this.#lowerCase;
  }
}

/** `destination:a outcome:failed` is about one outcome that is both. */
function matchesOutcomes(
  terms: readonly FilterTerm[],
  outcomes: readonly { readonly destinationId: string; readonly state: string }[],
): boolean {
  const isNamed = (field: "destination" | "outcome", negated: boolean) =>
    terms.filter((term) => term.kind === "field" && term.field === field && term.negated === negated);
  const fits = (outcome: { readonly destinationId: string; readonly state: string }, negated: boolean) =>
    anyOrNone(isNamed("destination", negated), outcome.destinationId) &&
    anyOrNone(isNamed("outcome", negated), outcome.state);
  if (terms.some((term) => term.negated) && outcomes.some((outcome) => fits(outcome, true))) return false;
  return terms.every((term) => term.negated) || outcomes.some((outcome) => fits(outcome, false));
}

function anyOrNone(terms: readonly FilterTerm[], value: string): boolean {
  return terms.length === 0 || terms.some((term) => hasValue(term, value, new Texts()));
}

function holdsFor(term: FilterTerm, { message, messageId, sourceId }: FilterSubject, texts: Texts): boolean {
  if (term.kind === "text") return texts.all(message).includes(term.value.toLowerCase());
  if (term.kind === "path") return hasValue(term, lookUp(message, term.path.join(".")), texts);
  switch (term.field) {
    case "type":
      return hasValue(term, message.type, texts);
    case "event":
      return hasValue(term, message.event, texts);
    case "name":
      return hasValue(term, message.name, texts);
    case "user":
      return hasValue(term, message.userId, texts);
    case "anonymous":
      return hasValue(term, message.anonymousId, texts);
    case "group":
      return hasValue(term, message.groupId, texts);
    case "id":
      return hasValue(term, messageId, texts);
    case "source":
      return hasValue(term, sourceId, texts);
    case "destination":
    case "outcome":
      return true;
    default:
      return term.field satisfies never;
  }
}

function hasValue(term: FilterTerm, value: unknown, texts: Texts): boolean {
  if (value === undefined) return false;
  const text = texts.of(value);
  return term.isPrefix ? text.startsWith(term.value) : text === term.value;
}
