import type { AdminClient } from "@sluice/admin-client";
import type {
  CatalogEntryView,
  DestinationView,
  EventView,
  Explanation,
  TestSendView,
  TransformationView,
  WhyView,
} from "@sluice/control-api";
import type { Command } from "commander";
import { definedFields, durationText } from "../../arguments.js";
import { readHealth } from "../../connection/destination-health.js";
import { collect } from "../../connection/find-by-name.js";
import { recordText } from "../../endpoints/answer-text.js";
import type { Extra } from "../../endpoints/endpoint-command.js";
import { CommandFailure } from "../../failures.js";
import { terminalJson, terminalLines, terminalText } from "../../terminal/terminal-text.js";
import { createExtra, updateExtra } from "../transformations/read-code.js";
import { readSet, readSettings, typeText, withSettings } from "./destination-types.js";

/** Adds each destination's health, and why it has it. */
export async function withHealth(client: AdminClient, items: readonly DestinationView[]): Promise<object[]> {
  const { destinations } = await client.health();
  return items.map((item) => {
    const { health, reason } = destinations.find(({ destinationId }) => destinationId === item.id) ?? {};
    return { ...item, ...definedFields({ health, reason }) };
  });
}

const healthOfOne: Extra["answer"] = async (answer, { client }) =>
  (await withHealth(client, [answer as DestinationView]))[0];

const settings: Extra = {
  options: (command) => void withSettings(command),
  async body({ client, options, item }, input) {
    const type = String(item?.type ?? input.type);
    const given = {
      ...(input.settings as object | undefined),
      ...(await readSet(client, type, options.set)),
    };
    return definedFields({ settings: readSettings(options, given) });
  },
  answer: healthOfOne,
};

/** What commands do besides calling their endpoint, by their words. */
export const EXTRAS: { readonly [command: string]: Extra } = {
  "destinations list": {
    async answer(answer, { client }) {
      const { items, ...page } = answer as { items: DestinationView[] };
      return { items: await withHealth(client, items), ...page };
    },
  },
  "destinations get": { answer: healthOfOne },
  "destinations types": {
    text: (answer) =>
      (answer as { items: CatalogEntryView[] }).items.map((item) => `${typeText(item)}\n`).join("\n"),
  },
  "destinations disable": { answer: healthOfOne },
  "destinations update": {
    ...settings,
    options: (command) =>
      void withSettings(command)
        .option("--no-secret", "remove the secret; requests are no longer signed")
        .option("--no-batch", "send each message in a request of its own"),
  },
  "destinations create": {
    ...settings,
    async body(call, input) {
      const sources = await (input.sourceIds === undefined
        ? collect((cursor) => call.client.sources.list({ cursor }))
        : undefined);
      const sourceIds = sources?.map(({ id }) => id);
      return { ...(await settings.body?.(call, input)), ...definedFields({ sourceIds }) };
    },
  },
  "destinations status": {
    answer: (_, { client, item }) => readHealth(client, item as unknown as DestinationView),
  },
  "destinations test": {
    check(answer) {
      const { state, reason } = answer as TestSendView;
      if (state !== "delivered")
        throw new CommandFailure("partly", `The test message was not delivered: ${reason}`);
    },
  },
  "transformations create": createExtra,
  "transformations update": updateExtra,
  "transformations get": {
    options: (command) => void command.option("--code", "print nothing but the code"),
    text(answer, { options, io }) {
      const { code, ...rest } = answer as TransformationView;
      const lines = terminalLines(code.endsWith("\n") ? code : `${code}\n`);
      return options.code === true ? lines : `${recordText(rest, io)}\n${lines}`;
    },
  },
  "audiences why": {
    text(answer, { item }) {
      const { userId, member, since, explanation } = answer as WhyView;
      const words = `${member ? "in" : "not in"} ${item?.name}${since === undefined ? "" : ` since ${since}`}`;
      return `${terminalText(`${userId} is ${words}`)}\n${explanationLines(explanation, 1)}`;
    },
  },
  "events list": {
    options: (command: Command) =>
      void command
        .option("--unplanned", "list only what the source's tracking plan does not have")
        .option("--violating", "list only what violated the tracking plan"),
    async answer(answer, { options }) {
      const { items, ...page } = answer as { items: EventView[] };
      const isWanted = ({ isPlanned, violations }: EventView) =>
        (!options.unplanned || isPlanned === false) && (!options.violating || violations > 0);
      return { items: items.filter(isWanted), ...page };
    },
  },
};

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
