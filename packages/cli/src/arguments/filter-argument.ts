import { FILTER_FIELDS, parseFilter } from "@sluice/protocol";
import { CommandFailure } from "../failures/exit-codes.js";

const ONE_TERM = /^(-?[\w.]+:)([^"]*\s[^"]*)$/;
const NAMES = new RegExp(`(^|\\s)-?(${FILTER_FIELDS.join("|")}|properties\\.|traits\\.|context\\.)`);

/**
 * A filter from the command line. The shell takes quotation marks away (`event:"Signed Up"` arrives as one argument
 * with a blank in it), so they are put back where an argument can only be one term.
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

/** The same, refused with a sign where it goes wrong. */
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
  Terms must all hold; the same field twice means either; - means not; * at the end means begins with.
  Fields: ${FILTER_FIELDS.join(", ")}, properties.…, traits.…, context.…; anything else is text to be found.
`;
