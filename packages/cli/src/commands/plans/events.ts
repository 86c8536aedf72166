import type { EventListView, EventView, SourceView } from "@sluice/control-api";
import type { Command } from "commander";
import { collect } from "../../connection/collect.js";
import { type CommandOptions, connectedCommand } from "../../connection/connected-command.js";
import { connect } from "../../connection/connection.js";
import { findByName } from "../../connection/find-by-name.js";
import { examples, newGroup, subcommandExamples } from "../../definition/command.js";
import type { Io } from "../../terminal/io.js";
import { show } from "../../terminal/show.js";
import { table } from "../../terminal/table.js";
import { clip } from "../../terminal/terminal-text.js";

export function eventsCommand(io: Io): Command {
  const list = connectedCommand(
    "list",
    "list the events that a source sent, with their counts and properties",
  )
    .argument("<source>", "its id or name")
    .option("--unplanned", "list only what the source's tracking plan does not have")
    .option("--violating", "list only what violated the tracking plan")
    .action((source: string, options: ListOptions) => listEvents(source, options, io));
  const group = newGroup("events", "see which events a source sent").addCommand(list);
  subcommandExamples(group, { list: "sluice events list Shop" });
  return examples(group, [
    ["Names, counts and properties", "sluice events list Shop"],
    ["What the tracking plan does not know", "sluice events list Shop --unplanned"],
  ]);
}

interface ListOptions extends CommandOptions {
  readonly unplanned?: boolean;
  readonly violating?: boolean;
}

async function listEvents(wanted: string, options: ListOptions, io: Io): Promise<void> {
  const client = await connect(options, io);
  const { id } = await findByName<SourceView>("source", wanted, (page) => client.sources.list(page));
  let last: EventListView | undefined;
  const items = await collect(async (cursor) => {
    last = await client.sources.events(id, { cursor, limit: 500 });
    return last;
  });
  const shown = items.filter(
    ({ isPlanned, violations }) =>
      (!options.unplanned || isPlanned === false) && (!options.violating || violations > 0),
  );
  const { names = 0, notKept = 0, behind = 0 } = last ?? {};
  await show(io, options.json, { items: shown, names, notKept, behind }, () => eventTable(shown, io));
  if (options.json) return;
  if (notKept > 0) io.err(`${names} names are listed, about ${notKept} more are not: the most are 1,000\n`);
  if (behind > 0) io.err(`${behind} messages are not counted yet\n`);
}

function eventTable(events: readonly EventView[], io: Io): string {
  return table(
    ["TYPE", "NAME", "COUNT", "PLAN", "VIOLATIONS", "FIRST SEEN", "LAST SEEN", "PROPERTIES"],
    events.map((event) => [
      event.type,
      clip(event.name ?? "", 40),
      event.count,
      event.isPlanned === undefined ? "" : event.isPlanned ? "yes" : "no",
      violationText(event),
      minuteOf(event.firstSeenAt),
      minuteOf(event.lastSeenAt),
      clip(event.properties.map(({ name, types }) => `${name}: ${types.join("|")}`).join(", "), 100),
    ]),
    io.style.bold,
  );
}

function violationText({ violations, lastViolation }: EventView): string {
  if (violations === 0) return "";
  return clip(
    lastViolation === undefined ? `${violations}` : `${violations}, last: ${lastViolation.message}`,
    70,
  );
}

/** `2026-11-21 10:30` in UTC. */
function minuteOf(iso: string): string {
  return iso.slice(0, 16).replace("T", " ");
}
