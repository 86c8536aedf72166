import { allPages } from "@sluice/admin-client";
import { COMPUTED_TRAIT_KINDS, type ComputedTraitKind, type ComputedTraitView } from "@sluice/protocol";
import { type Command, Option } from "commander";
import { exampleOfEach, examples, newCommand, newGroup } from "../command.js";
import { type ConnectionOptions, connect, withConnection } from "../connection.js";
import { CommandFailure } from "../exit-codes.js";
import { findByName } from "../find-by-name.js";
import type { Io } from "../io.js";
import { readDuration } from "../numbers.js";
import { show } from "../show.js";
import { table } from "../table.js";

interface Options extends ConnectionOptions {
  readonly json?: boolean;
}

interface Given extends Options {
  readonly name?: string;
  readonly kind?: ComputedTraitKind;
  readonly event?: string;
  readonly property?: string;
  readonly within?: string;
  readonly destination?: string[];
}

export function traitsCommand(io: Io): Command {
  const command = newGroup("traits", "list, make and change computed traits");
  const sub = (name: string, summary: string): Command => withConnection(newCommand(name, summary));
  const find = async (wanted: string, options: Options) => {
    const client = await connect(options, io);
    const trait = await findByName("computed trait", wanted, (page) => client.computedTraits.list(page));
    return { client, trait };
  };
  /** The fields that were given, as the API wants them. */
  const body = async (given: Given, client: Awaited<ReturnType<typeof connect>>) => {
    const destinationIds = [];
    for (const wanted of given.destination ?? [])
      destinationIds.push((await findByName("destination", wanted, (of) => client.destinations.list(of))).id);
    const { name, kind, event, property, within } = given;
    return {
      ...(name === undefined ? {} : { name }),
      ...(kind === undefined ? {} : { kind }),
      ...(event === undefined ? {} : { event }),
      ...(property === undefined ? {} : { property }),
      ...(within === undefined ? {} : { withinMs: readDuration("--within", within) }),
      ...(given.destination === undefined ? {} : { destinationIds }),
    };
  };
  const kindOption = (): Option =>
    new Option("--kind <kind>", "what is made of the events").choices(COMPUTED_TRAIT_KINDS);
  const withFields = (to: Command): Command =>
    to
      .option("--property <property>", "of which property; every kind but count needs one")
      .option("--within <duration>", "only events of the last so long, such as 30d")
      .option("--destination <destination...>", "destinations that are told: ids or names");

  command.addCommand(
    sub("list", "all computed traits, oldest first").action(async (options: Options) => {
      const client = await connect(options, io);
      const traits: ComputedTraitView[] = [];
      for await (const trait of allPages((cursor) => client.computedTraits.list({ cursor })))
        traits.push(trait);
      await show(io, options.json, { items: traits }, () => traitsTable(traits, io));
    }),
  );
  command.addCommand(
    sub("get", "one computed trait, and how far its sync is")
      .argument("<trait>", "its id or name")
      .action(async (wanted: string, options: Options) => {
        const { trait } = await find(wanted, options);
        await show(io, options.json, trait, () => traitsTable([trait], io));
      }),
  );
  command.addCommand(
    withFields(
      sub("create", "make a computed trait; its destinations are told of every user's value")
        .argument("<name>")
        .addOption(kindOption().makeOptionMandatory())
        .requiredOption("--event <event>", "the track event that it is made of"),
    ).action(
      async (name: string, options: Given & { readonly kind: ComputedTraitKind; readonly event: string }) => {
        const client = await connect(options, io);
        const { kind, event } = options;
        const trait = await client.computedTraits.create({
          ...(await body(options, client)),
          name,
          kind,
          event,
        });
        await show(io, options.json, trait, () => traitsTable([trait], io));
      },
    ),
  );
  command.addCommand(
    withFields(
      sub("update", "change a computed trait: only values that differ by it are sent; the key stays")
        .argument("<trait>", "its id or name")
        .option("--name <name>", "its new name")
        .addOption(kindOption())
        .option("--event <event>", "the track event that it is made of from now on"),
    ).action(async (wanted: string, options: Given) => {
      const { client, trait } = await find(wanted, options);
      const changed = await client.computedTraits.patch(trait.id, {
        ...(await body(options, client)),
        version: trait.version,
      });
      await show(io, options.json, changed, () => traitsTable([changed], io));
    }),
  );
  for (const [name, summary, enabled] of [
    ["disable", "send nothing more", false],
    ["enable", "send again, beginning with what is different by now", true],
  ] as const) {
    command.addCommand(
      sub(name, summary)
        .argument("<trait>", "its id or name")
        .action(async (wanted: string, options: Options) => {
          const { client, trait } = await find(wanted, options);
          const changed = await client.computedTraits.patch(trait.id, { enabled });
          await show(io, options.json, changed, () => traitsTable([changed], io));
        }),
    );
  }
  command.addCommand(
    sub("delete", "delete a computed trait: nothing more is sent")
      .argument("<trait>", "its id or name")
      .option("--yes", "do not ask")
      .action(async (wanted: string, options: Options & { yes?: boolean }) => {
        const { client, trait } = await find(wanted, options);
        if (options.yes !== true)
          throw new CommandFailure(
            "usage",
            `This deletes the computed trait ${trait.name} (${trait.id})`,
            "Say --yes to do it",
          );
        await client.computedTraits.delete(trait.id);
        await show(io, options.json, { deleted: trait.id }, () => `deleted ${trait.id}\n`);
      }),
  );
  exampleOfEach(command, {
    list: "sluice traits list",
    get: 'sluice traits get "Orders placed"',
    create: 'sluice traits create "Orders placed" --kind count --event "Order Completed"',
    update: 'sluice traits update "Orders placed" --name "Orders"',
    enable: 'sluice traits enable "Orders placed"',
    disable: 'sluice traits disable "Orders placed"',
    delete: 'sluice traits delete "Orders placed" --yes',
  });
  return examples(command, [
    [
      "What each user spent within 30 days",
      "sluice traits create 'Spent 30 days' --kind sum --event 'Order Completed' --property total --within 30d --destination Orders",
    ],
    ["A user's values", "sluice profiles get user-42"],
  ]);
}

function traitsTable(traits: readonly ComputedTraitView[], io: Io): string {
  return table(
    ["ID", "NAME", "KEY", "KIND", "EVENT", "STATE"],
    traits.map(({ id, name, key, kind, event, property, status }) => [
      id,
      name,
      key,
      property === undefined ? kind : `${kind} of ${property}`,
      event,
      status.progress === 1 ? status.state : `${status.state} ${Math.floor(status.progress * 100)} %`,
    ]),
    io.style.bold,
  );
}
