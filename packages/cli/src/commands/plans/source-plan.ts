import type { SourcePlanView, SourceView } from "@sluice/control-api";
import { readPlan } from "@sluice/protocol";
import type { Command } from "commander";
import type { CommandOptions } from "../../connection/connected-command.js";
import { examples, newGroup, subcommandExamples } from "../../definition/command.js";
import { CommandFailure } from "../../failures/exit-codes.js";
import { confirmRemoval } from "../../terminal/confirm.js";
import type { Io } from "../../terminal/io.js";
import { show } from "../../terminal/show.js";
import { terminalText } from "../../terminal/terminal-text.js";
import type { ResourceCommands } from "../resources/managed-resource.js";
import { readPlanFile } from "./read-plan-file.js";

/** `sluice sources plan`: the tracking plan that a source's messages are held to. */
export function planCommand({ forOne }: ResourceCommands<SourceView>, io: Io): Command {
  const get = forOne("get", "print the tracking plan of a source", async ({ client, item }, options) => {
    const plan = await client.sources.plan(item.id);
    await show(io, options.json, plan, () => `${JSON.stringify(plan.plan, null, 2)}\n`);
  });
  const set = forOne<CommandOptions & { readonly mode?: string }>(
    "set",
    "hold the messages of a source to a tracking plan",
    async ({ client, item }, { mode, json }, file = "") => {
      if (mode !== undefined && mode !== "report" && mode !== "refuse")
        throw new CommandFailure("usage", `--mode must be report or refuse, got ${mode}`);
      const plan = (await readPlanFile(file, io)).json;
      const stored = await client.sources.setPlan(item.id, { plan, ...(mode === undefined ? {} : { mode }) });
      await show(io, json, stored, () => summary(stored, item.name));
    },
  )
    .argument("<plan>", "a JSON file: a tracking plan, or an export of Segment or RudderStack")
    .option(
      "--mode <mode>",
      "report: count messages that violate the plan; refuse: refuse them (default: as before, at first report)",
    );
  const remove = forOne<CommandOptions & { readonly yes?: boolean }>(
    "remove",
    "remove the tracking plan of a source: its messages are not checked any more",
    async ({ client, item: { id, name } }, { yes, json }) => {
      await confirmRemoval(
        {
          consequence: `This removes the tracking plan of the source ${name} (${id})`,
          question: `Remove the tracking plan of the source ${name} (${id})?`,
          declined: "Nothing was removed.",
          isYes: yes === true,
        },
        io,
      );
      await client.sources.removePlan(id);
      await show(io, json, { removed: id }, () => `removed the tracking plan of ${terminalText(name)}\n`);
    },
  ).option("--yes", "do not ask for confirmation");
  const group = newGroup("plan", "hold the messages of a source to a tracking plan")
    .addCommand(set)
    .addCommand(get)
    .addCommand(remove);
  subcommandExamples(group, {
    set: "sluice sources plan set Shop plan.json --mode refuse",
    get: "sluice sources plan get Shop > plan.json",
    remove: "sluice sources plan remove Shop --yes",
  });
  return examples(group, [
    ["Count the messages that violate a plan", "sluice sources plan set Shop plan.json"],
    ["See which events do", "sluice events list Shop"],
    ["Refuse them", "sluice sources plan set Shop plan.json --mode refuse"],
  ]);
}

function summary({ plan, mode }: SourcePlanView, source: string): string {
  const reading = readPlan(plan);
  const names = reading.kind === "plan" ? [reading.plan.track, reading.plan.page, reading.plan.screen] : [];
  const count = names.reduce((sum, one) => sum + (one?.size ?? 0), 0);
  const done = mode === "refuse" ? "refused" : "stored and counted";
  return `${terminalText(source)} has a plan with ${count} ${count === 1 ? "name" : "names"}. Messages that violate it are ${done}.\n`;
}
