import type { ProblemsView } from "@sluice/control-api";
import { durationText } from "../../arguments/numbers.js";
import { plural } from "../../terminal/plural.js";
import type { Check } from "./check.js";

/** Wrong keys to name. */
const NAMED_KEYS = 3;

/** Refused requests by code, and open incidents: the same that the dashboard shows. */
export function checkProblems(problems: ProblemsView): Check[] {
  return [...refusedRequests(problems), ...openIncidents(problems)];
}

function refusedRequests({ refusedRequests: refused, wrongKeys, overMs }: ProblemsView): Check[] {
  const name = "refused";
  const over = durationText(Math.max(60_000, Math.round(overMs / 60_000) * 60_000));
  if (refused.length === 0)
    return [{ name, result: "ok", message: `no request was refused in the last ${over}` }];
  return refused.map(({ code, status, requests, lastAt }) => {
    const when = lastAt === undefined ? "" : `, last at ${lastAt}`;
    const message = `${plural(requests, "request", "requests")} refused with ${status} ${code} in the last ${over}${when}`;
    const hint = code === "invalid_write_key" ? wrongKeysText(wrongKeys) : "";
    return { name, result: "warning", message, ...(hint === "" ? {} : { hint }) };
  });
}

function wrongKeysText(keys: ProblemsView["wrongKeys"]): string {
  return keys
    .slice(0, NAMED_KEYS)
    .map(({ keyPrefix, address, client = "unknown client", requests }) => {
      const key = keyPrefix === undefined ? "without a key" : `with ${keyPrefix}…`;
      return `${requests} ${key} from ${address} (${client})`;
    })
    .join("; ");
}

function openIncidents({ incidents }: ProblemsView): Check[] {
  return incidents.map(({ title, since, detail }) => ({
    name: "incident",
    result: "problem",
    message: `${title}, since ${since}`,
    hint: detail,
  }));
}
