import { type AdminClient, allPages } from "@sluice/admin-client";
import { type DestinationHealth, healthWord, readHealth } from "../../connection/destination-health.js";
import { plural, shellWord } from "../../terminal/style.js";
import type { Check } from "./check.js";

/** One check per destination. */
export async function checkDestinations(client: AdminClient): Promise<Check[]> {
  const checks: Check[] = [];
  for await (const destination of allPages((cursor) => client.destinations.list({ cursor })))
    checks.push(checkDestination(destination.name, await readHealth(client, destination)));
  if (checks.length > 0) return checks;
  return [
    {
      name: "destination",
      result: "skipped",
      message: "there are no destinations, so messages are stored but not delivered",
      hint: "Create one: npx sluice destinations create --webhook URL",
    },
  ];
}

export function checkDestination(destination: string, health: DestinationHealth): Check {
  const name = "destination";
  const message = healthMessage(destination, health);
  const word = shellWord(destination);
  switch (health.health) {
    case "good":
    case "idle":
      return { name, result: "ok", message };
    case "disabled":
      return { name, result: "skipped", message };
    case "url_disabled":
    case "partly_disabled":
      return {
        name,
        result: "problem",
        message,
        hint: `A URL responded with 410. Enable it again: npx sluice destinations enable ${word}`,
      };
    case "behind":
    case "retrying":
      return {
        name,
        result: "warning",
        message,
        hint: `See what it does: npx sluice destinations status ${word}`,
      };
    case "backing_off":
    case "partly_failing":
    case "failing":
      return {
        name,
        result: "problem",
        message,
        hint: `Send a test message: npx sluice destinations test ${word}`,
      };
    default:
      return health.health satisfies never;
  }
}

function healthMessage(destination: string, health: DestinationHealth): string {
  const { nextAttemptAt, lastError, disabledUrls, reason, since } = health;
  return [
    `${destination}: ${healthWord(health.health)}${since === undefined ? "" : ` since ${since}`}`,
    ...(isExplained(health) ? [] : [reason]),
    ...(health.health === "behind" ? [] : [backlogText(health)]),
    ...(nextAttemptAt === undefined ? [] : [`next attempt ${nextAttemptAt}`]),
    ...disabledUrls.map((url) => `${url} is disabled`),
    ...(lastError === undefined ? [] : [`last error: ${lastError}`]),
  ].join("; ");
}

/** What waits. */
function backlogText({ health, waiting, retries }: DestinationHealth): string {
  if (waiting === 0) return "nothing is waiting";
  const messages = plural(waiting, "message waits", "messages wait");
  if (health === "disabled") return `${messages} until you enable it`;
  const forRetry = retries === 0 ? "" : `, ${retries} of them for a retry`;
  return `${messages}${forRetry}`;
}

/** Whether queue, URLs and error say it already. */
function isExplained({ health, reason, lastError, disabledUrls }: DestinationHealth): boolean {
  if (health === "good" || health === "idle" || health === "disabled") return true;
  return disabledUrls.length > 0 || (lastError !== undefined && reason.includes(lastError));
}
