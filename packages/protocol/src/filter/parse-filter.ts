import { MESSAGE_KINDS } from "../messages/message.js";
import { FILTER_FIELDS, type FilterField, type FilterTerm, type MessageFilter } from "./message-filter.js";

const PATH_ROOTS = new Set(["properties", "traits", "context", "integrations"]);
const FIELDS: ReadonlySet<string> = new Set(FILTER_FIELDS);
const OUTCOMES: ReadonlySet<string> = new Set([
  "delivered",
  "pending",
  "failed",
  "filtered",
  "skipped",
  "suppressed",
  "discarded",
  "rejected",
]);

export interface FilterIssue {
  /** The position in the text, from 0. */
  readonly at: number;
  readonly message: string;
}

export type FilterParse =
  | { readonly ok: true; readonly filter: MessageFilter }
  | { readonly ok: false; readonly issue: FilterIssue };

/** Limits of a filter, because each term is compared with every message. */
export const FILTER_LIMITS = {
  /** Terms of a filter. */
  terms: 50,
  /** Characters of its text. */
  characters: 2_000,
} as const;

/** Parses a filter. An issue says where it is wrong. Filters beyond `FILTER_LIMITS` are refused. */
export function parseFilter(text: string): FilterParse {
  const terms: FilterTerm[] = [];
  if (text.length > FILTER_LIMITS.characters)
    return refuse(FILTER_LIMITS.characters, `A filter can have ${FILTER_LIMITS.characters} characters`);
  let at = 0;
  for (;;) {
    while (at < text.length && isBlank(text[at])) at++;
    if (at >= text.length) return { ok: true, filter: { terms } };
    if (terms.length === FILTER_LIMITS.terms)
      return refuse(at, `A filter can have ${FILTER_LIMITS.terms} terms`);
    const read = readTerm(text, at);
    if ("issue" in read) return { ok: false, issue: read.issue };
    terms.push(read.term);
    at = read.end;
  }
}

type TermRead = { readonly term: FilterTerm; readonly end: number } | { readonly issue: FilterIssue };

/** Reads the term that starts at `start`. */
function readTerm(text: string, start: number): TermRead {
  const negated = text[start] === "-" && start + 1 < text.length && !isBlank(text[start + 1]);
  const nameAt = negated ? start + 1 : start;
  const name = text[nameAt] === '"' ? undefined : fieldName(text, nameAt);
  const valueAt = name === undefined ? nameAt : nameAt + name.length + 1;
  const value = readValue(text, valueAt);
  if (value === undefined)
    return { issue: { at: valueAt, message: "The closing quotation mark is missing" } };
  const { end } = value;
  if (name === undefined) return { term: { kind: "text", negated, value: value.text, isPrefix: false }, end };
  const message = termIssue(name, value);
  if (message !== undefined) return { issue: { at: start, message } };
  const common = { negated, value: value.text, isPrefix: value.isPrefix };
  if (FIELDS.has(name)) return { term: { kind: "field", field: name as FilterField, ...common }, end };
  return { term: { kind: "path", path: name.split("."), ...common }, end };
}

/** Why a field cannot have the value, or does not exist; undefined if the term is valid. */
function termIssue(name: string, value: ReadValue): string | undefined {
  if (value.text === "" && !value.isQuoted) return `\`${name}:\` needs a value`;
  if (name === "outcome" && !OUTCOMES.has(value.text))
    return `\`outcome\` must be one of ${[...OUTCOMES].join(", ")}`;
  if (name === "type" && !MESSAGE_KINDS.some((kind) => isKind(kind, value)))
    return `\`type\` must be one of ${MESSAGE_KINDS.join(", ")}`;
  const [root = "", ...rest] = name.split(".");
  if (FIELDS.has(name) || (rest.length > 0 && PATH_ROOTS.has(root))) return undefined;
  return `\`${name}\` is not a field. Fields: ${FILTER_FIELDS.join(", ")}, properties.…, traits.…, context.…; put text with a colon in quotation marks`;
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

/** The field name that starts at `at`, if a colon ends it. */
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

/** Formats a filter as text that `parseFilter` parses to the same terms. */
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
