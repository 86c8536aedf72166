import { FILTER_FIELDS, parseFilter } from "@sluice/protocol";
import { CommandFailure } from "../failures/exit-codes.js";

const ONE_TERM = /^(-?[\w.]+:)([^"]*\s[^"]*)$/;
const NAMES = new RegExp(`(^|\\s)-?(${FILTER_FIELDS.join("|")}|properties\\.|traits\\.|context\\.)`);

/**
 * Joins a filter from its arguments. The shell removes quotation marks (`event:"Signed Up"` arrives as one argument
 * with a space), so they are added again if an argument can only be one term.
 */
export function filterText(args: readonly string[]): string {
  return args
    .map((argument) => {
      const term = ONE_TERM.exec(argument);
      if (term === null || NAMES.test(term[2] ?? "")) return argument;
      return `${term[1]}"${term[2]}"`;
    })
    .join(" ");
}

/** Parses a filter from its arguments. Errors point at the wrong term. Returns undefined for no filter. */
export function readFilterArgument(args: readonly string[]): string | undefined {
  const text = filterText(args);
  if (text.trim() === "") return undefined;
  const parsed = parseFilter(text);
  if (parsed.ok) return text;
  throw new CommandFailure("usage", `${parsed.issue.message}\n  ${text}\n  ${" ".repeat(parsed.issue.at)}^`);
}

export const FILTER_HELP = `
Filter:
  type:track event:"Signed Up" user:42 outcome:failed -properties.plan:free checkout
  All terms must match. The same field twice means either value, - means not, and * at the end matches any ending.
  Fields: ${FILTER_FIELDS.join(", ")}, properties.…, traits.…, context.…. Other words are searched for as text.`;
