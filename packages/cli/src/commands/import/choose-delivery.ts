import { type AdminClient, AdminError } from "@sluice/admin-client";
import { type ConnectionOptions, connect } from "../../connection/connection.js";
import { collect } from "../../connection/find-by-name.js";
import { CommandFailure, Finding } from "../../failures.js";
import { ask } from "../../terminal/confirm.js";
import type { Io } from "../../terminal/io.js";
import { plural } from "../../terminal/style.js";
import { terminalText } from "../../terminal/terminal-text.js";
import type { RecordCount } from "./reading/count-records.js";

export interface KnownTargets {
  readonly kind: "known";
  readonly client: Pick<AdminClient, "call">;
  readonly sourceId: string;
  readonly source: string;
  /** Names of destinations that get new messages. */
  readonly enabled: readonly string[];
  /** Names of connected destinations that are disabled. */
  readonly disabled: readonly string[];
}

/** The destinations that get what is sent with a write key. */
export type Targets =
  | KnownTargets
  /** The control API cannot be asked: there is no token, or it does not see the write key. */
  | { readonly kind: "unknown"; readonly reason: string };

export async function readTargets(options: ConnectionOptions, writeKey: string, io: Io): Promise<Targets> {
  try {
    const client = await connect(options, io);
    const sources = await collect((cursor) => client.sources.list({ cursor }));
    const source = sources.find(({ writeKeys }) => writeKeys.some(({ key }) => key === writeKey));
    if (source === undefined) return { kind: "unknown", reason: "the token does not see this write key" };
    const connected = (await collect((cursor) => client.destinations.list({ cursor }))).filter(
      ({ sourceIds }) => sourceIds.includes(source.id),
    );
    const names = (enabled: boolean): string[] =>
      connected.filter((one) => one.enabled === enabled).map(({ name }) => name);
    return {
      kind: "known",
      client,
      sourceId: source.id,
      source: source.name,
      enabled: names(true),
      disabled: names(false),
    };
  } catch (error) {
    // An import needs no admin token: it only says less without one.
    if (error instanceof AdminError) return { kind: "unknown", reason: error.code };
    if (error instanceof CommandFailure) return { kind: "unknown", reason: "there is no admin token" };
    throw error;
  }
}

interface DeliveryQuestion {
  /** `--deliver` or `--no-deliver`, if given. */
  readonly given: boolean | undefined;
  /** What was chosen when the import that continues was started. */
  readonly earlier: boolean | undefined;
  readonly targets: Targets;
  /** Counts the messages. Only called if somebody is asked. */
  readonly count: () => Promise<RecordCount>;
  readonly canAsk: boolean;
}

/** Whether the messages are delivered. Throws if nobody has decided that and nobody can be asked. */
export async function chooseDelivery(question: DeliveryQuestion, io: Io): Promise<boolean> {
  const { given, earlier, targets, count, canAsk } = question;
  const chosen = given ?? earlier;
  if (chosen !== undefined) return chosen;
  if (!canAsk)
    throw new CommandFailure(
      "usage",
      `Nothing was imported: say whether the messages are delivered. ${consequence(targets)}`,
      "Add --deliver to deliver them now, or --no-deliver to store them for profiles and audiences only",
    );
  // Destinations that are connected later do not get earlier messages, so there is nothing to decide.
  if (targets.kind === "known" && targets.enabled.length === 0) return true;
  const counted = await count();
  io.err(`${terminalText(countText(counted))}. ${terminalText(consequence(targets))}.\n`);
  if (counted.naming > 0)
    io.err(
      `${plural(counted.naming, "message names a destination", "messages name destinations")} in \`integrations\`: these are delivered there in any case.\n`,
    );
  const answer = await ask("Deliver them now? yes, no (store only) or cancel [y/n/C] ", io);
  if (/^y(es)?$/i.test(answer)) return true;
  if (/^no?$/i.test(answer)) return false;
  throw new Finding("failed", "Nothing was imported.");
}

function countText({ messages, isMore }: RecordCount): string {
  const count = messages.toLocaleString("en");
  return isMore ? `More than ${count} messages` : `${count} ${messages === 1 ? "message" : "messages"}`;
}

function consequence(targets: Targets): string {
  if (targets.kind === "unknown")
    return `With delivery, every enabled destination of the source gets them (which ones is unknown: ${targets.reason})`;
  const { source, enabled } = targets;
  if (enabled.length === 0) return `No enabled destination is connected to the source ${source}`;
  return `With delivery, ${nameList(enabled)} ${enabled.length === 1 ? "gets" : "get"} them (source ${source})`;
}

/** What happens to the messages, before they are sent. */
export function plannedText(deliver: boolean, targets: Targets): string {
  if (!deliver)
    return "The messages are stored and counted in profiles and audiences. They are only delivered to destinations that their own `integrations` name.";
  if (targets.kind === "unknown")
    return "The messages are stored and delivered to every enabled destination of the source.";
  const { source, enabled, disabled } = targets;
  const off = disabled.length === 0 ? "" : ` Disabled, and skipped: ${nameList(disabled)}.`;
  if (enabled.length === 0)
    return `The messages are stored. No enabled destination is connected to the source ${source}, so they are delivered to none.${off}`;
  return `The messages are stored and delivered to ${nameList(enabled)}, except where their own \`integrations\` exclude a destination.${off}`;
}

/** What happened to the messages: a short end of the result's line. */
export function deliveryText(deliver: boolean, targets: Targets, naming: number): string {
  if (!deliver) {
    const except = naming === 0 ? "" : `, except ${naming.toLocaleString("en")} that name a destination`;
    return `stored without delivery${except}`;
  }
  if (targets.kind === "unknown") return "delivery has started";
  return targets.enabled.length === 0
    ? "no destination gets them"
    : `being delivered to ${nameList(targets.enabled)}`;
}

const SHOWN_NAMES = 5;

function nameList(names: readonly string[]): string {
  const shown = names.slice(0, SHOWN_NAMES).join(", ");
  return names.length <= SHOWN_NAMES ? shown : `${shown} and ${names.length - SHOWN_NAMES} more`;
}
