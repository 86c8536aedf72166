import { lookUp } from "../conditions/compare.js";
import type { FilterTerm, MessageFilter } from "./message-filter.js";

/** A message as filters see it. */
export interface FilterSubject {
  readonly messageId: string;
  readonly sourceId: string;
  readonly message: { readonly [field: string]: unknown };
  /** Its outcomes so far, for terms about outcomes. */
  readonly outcomes?: readonly { readonly destinationId: string; readonly state: string }[];
}

/** Whether a filter has terms about outcomes, which a message alone cannot answer. */
export function asksOutcomes(filter: MessageFilter): boolean {
  return filter.terms.some(isOutcomeTerm);
}

/** Whether a filter has terms about messages. */
export function asksMessage(filter: MessageFilter): boolean {
  return filter.terms.some((term) => !isOutcomeTerm(term));
}

/** The filter without its terms about outcomes. */
export function messageTerms(filter: MessageFilter): MessageFilter {
  return { terms: filter.terms.filter((term) => !isOutcomeTerm(term)) };
}

/** The filter's terms about outcomes. */
export function outcomeTerms(filter: MessageFilter): MessageFilter {
  return { terms: filter.terms.filter(isOutcomeTerm) };
}

function isOutcomeTerm(term: FilterTerm): boolean {
  return term.kind === "field" && (term.field === "outcome" || term.field === "destination");
}

/** Whether the subject matches the filter. */
export function matchesFilter(filter: MessageFilter, subject: FilterSubject): boolean {
  return compileFilter(filter)(subject);
}

/** Compiles a filter for use on many messages: its terms are sorted once, and no value of a message is serialized twice. */
export function compileFilter({ terms }: MessageFilter): (subject: FilterSubject) => boolean {
  const outcomes = terms.filter(isOutcomeTerm);
  const unwanted: FilterTerm[] = [];
  const required: FilterTerm[] = [];
  /** A field that is given twice matches either value. */
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

/** The values of one message as text, serialized once. */
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

/** `destination:a outcome:failed` matches one outcome that is both. */
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
