import { HEALTH_WORDS, type HealthLevel } from "@sluice/control-api";
import type { Health } from "./judge-health.js";

/** Problems that a summary names. */
const NAMED = 3;

const LEVELS: readonly HealthLevel[] = ["problem", "warning", "ok", "quiet"];
const WORST_FIRST = Object.keys(HEALTH_WORDS);

/** The health of several destinations together: the worst one. Disabled destinations count only if all are. */
export function summarizeHealth(members: readonly (Health & { readonly name: string })[]): Health {
  if (members.length === 0) return { health: "idle", reason: "No destination is connected" };
  const enabled = members.filter(({ health }) => health !== "disabled");
  const ranked = enabled.toSorted((a, b) => rank(a) - rank(b));
  const [worst] = ranked;
  if (worst === undefined) return { health: "disabled", reason: allAre(members.length, "disabled") };
  const { health } = worst;
  if (health === "idle") return { health, reason: `${allHave(enabled.length)} no delivery yet` };
  if (health === "good") return { health, reason: allDeliver(enabled) };
  const affected = ranked.filter((one) => ["problem", "warning"].includes(levelOf(one)));
  const named = affected
    .slice(0, NAMED)
    .map((one) => `${one.name} (${HEALTH_WORDS[one.health].label.toLowerCase()})`);
  const more = affected.length > NAMED ? ` and ${affected.length - NAMED} more` : "";
  const times = affected.flatMap(({ sinceMs }) => sinceMs ?? []);
  return {
    health,
    reason: `${affected.length} of ${members.length} ${members.length === 1 ? "destination needs" : "destinations need"} attention: ${named.join(", ")}${more}`,
    ...(times.length === 0 ? {} : { sinceMs: Math.min(...times) }),
  };
}

function rank(member: Health): number {
  return LEVELS.indexOf(levelOf(member)) * WORST_FIRST.length + WORST_FIRST.indexOf(member.health);
}

function levelOf({ health }: Health): HealthLevel {
  return HEALTH_WORDS[health].level;
}

function allAre(number: number, state: string): string {
  return number === 1 ? `The destination is ${state}` : `All ${number} destinations are ${state}`;
}

function allHave(number: number): string {
  return number === 1 ? "The destination has" : `All ${number} destinations have`;
}

function allDeliver(enabled: readonly Health[]): string {
  const good = enabled.filter(({ health }) => health === "good").length;
  const idle = enabled.length - good;
  const delivering = good === 1 ? "1 destination delivers" : `${good} destinations deliver`;
  return idle === 0 ? delivering : `${delivering}, ${idle} ${idle === 1 ? "has" : "have"} no delivery yet`;
}
