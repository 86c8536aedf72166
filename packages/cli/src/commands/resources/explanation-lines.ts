import type { Explanation } from "@sluice/control-api";
import { durationText } from "../../arguments/numbers.js";
import { terminalJson, terminalText } from "../../terminal/terminal-text.js";

/** An explanation as a tree: one line per condition, with yes or no and the values that were compared. */
export function explanationLines(explanation: Explanation, indent = 0): string {
  const mark = explanation.holds ? "yes" : "no ";
  const line = `${"  ".repeat(indent)}${mark} ${conditionText(explanation)}\n`;
  switch (explanation.kind) {
    case "and":
    case "or":
      return line + explanation.conditions.map((child) => explanationLines(child, indent + 1)).join("");
    case "not":
      return line + explanationLines(explanation.condition, indent + 1);
    default:
      return line;
  }
}

function conditionText(explanation: Explanation): string {
  switch (explanation.kind) {
    case "and":
      return "all of";
    case "or":
      return "any of";
    case "not":
      return "not";
    case "trait": {
      const { trait, is, value, seen } = explanation;
      const wanted = value === undefined ? "" : ` ${terminalJson(value)}`;
      return `trait ${terminalText(trait)} ${is}${wanted} (${seen === undefined ? "no value" : `is ${terminalJson(seen)}`})`;
    }
    case "event": {
      const { event, times, withinMs, seen, orMore, lastAt } = explanation;
      const window = withinMs === undefined ? "" : ` within ${durationText(withinMs)}`;
      const last = lastAt === undefined ? "" : `, last ${lastAt}`;
      return `event ${terminalText(event)} ${terminalJson(times)}${window} (${seen} times${orMore ? " or more" : ""}${last})`;
    }
    case "audience":
      return `member of ${terminalText(explanation.audienceId)}`;
    default:
      return explanation satisfies never;
  }
}
