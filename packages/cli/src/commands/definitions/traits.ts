import { allPages } from "@sluice/admin-client";
import {
  COMPUTED_TRAIT_KINDS,
  type ComputedTraitKind,
  type ComputedTraitView,
  type SyncView,
  type UserValueView,
  type ValueWhyView,
} from "@sluice/protocol";
import { type Command, Option } from "commander";
import { readDuration, readInteger } from "../../arguments/numbers.js";
import { type ConnectionOptions, connect, withConnection } from "../../connection/connection.js";
import { findByName } from "../../connection/find-by-name.js";
import { exampleOfEach, examples, newCommand, newGroup } from "../../definition/command.js";
import { confirmRemoval } from "../../terminal/confirm.js";
import type { Io } from "../../terminal/io.js";
import { plural } from "../../terminal/plural.js";
import { show } from "../../terminal/show.js";
import { table } from "../../terminal/table.js";
import { clip, terminalJson, terminalText } from "../../terminal/terminal-text.js";

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
  const command = newGroup("traits", "list, make, preview and change computed traits");
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
  const withEvents = (to: Command): Command =>
    to
      .option("--property <property>", "of which property; every kind but count needs one")
      .option("--within <duration>", "only events of the last so long, such as 30d");
  const withFields = (to: Command): Command =>
    withEvents(to).option("--destination <destination...>", "destinations that are told: ids or names");

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
    withEvents(
      sub("preview", "what a computed trait would be, before there is one")
        .addOption(kindOption().makeOptionMandatory())
        .requiredOption("--event <event>", "the track event that it is made of"),
    ).action(async (options: Given & { readonly kind: ComputedTraitKind; readonly event: string }) => {
      const client = await connect(options, io);
      const { kind, event, property, within } = options;
      const preview = await client.computedTraits.preview({
        kind,
        event,
        ...(property === undefined ? {} : { property }),
        ...(within === undefined ? {} : { withinMs: readDuration("--within", within) }),
      });
      await show(io, options.json, preview, () =>
        [
          `${preview.size} of ${preview.evaluated} users would have a value (found in ${Math.round(preview.tookMs)} ms)\n`,
          valuesTable(preview.sample, io),
        ].join(""),
      );
    }),
  );
  command.addCommand(
    sub("values", "users who have a value, and what it is")
      .argument("<trait>", "its id or name")
      .option("-n, --limit <n>", "at most so many", "50")
      .action(async (wanted: string, options: Options & { limit: string }) => {
        const limit = readInteger("--limit", options.limit, 1, 500);
        const { client, trait } = await find(wanted, options);
        const items: UserValueView[] = [];
        let nextCursor: string | undefined;
        // Where values are rare a page may be short and have a next one.
        do {
          const page = await client.computedTraits.values(trait.id, {
            limit: limit - items.length,
            cursor: nextCursor,
          });
          items.push(...page.items);
          nextCursor = page.nextCursor;
        } while (nextCursor !== undefined && items.length < limit);
        const values = { items, ...(nextCursor === undefined ? {} : { nextCursor }) };
        await show(io, options.json, values, () => valuesTable(items, io));
      }),
  );
  command.addCommand(
    sub("why", "how a user's value came about: of how many events, in which window, of which messages")
      .argument("<trait>", "its id or name")
      .argument("<userId>")
      .action(async (wanted: string, userId: string, options: Options) => {
        const { client, trait } = await find(wanted, options);
        const why = await client.computedTraits.why(trait.id, userId);
        await show(io, options.json, why, () => whyText(trait, why, io));
      }),
  );
  command.addCommand(
    sub("delete", "delete a computed trait: nothing more is sent")
      .argument("<trait>", "its id or name")
      .option("--yes", "do not ask")
      .action(async (wanted: string, options: Options & { yes?: boolean }) => {
        const { client, trait } = await find(wanted, options);
        await confirmRemoval(
          {
            what: `This deletes the computed trait ${trait.name} (${trait.id})`,
            question: `Delete the computed trait ${trait.name} (${trait.id})?`,
            declined: "Nothing was deleted.",
            isYes: options.yes === true,
          },
          io,
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
    preview: 'sluice traits preview --kind sum --event "Order Completed" --property total --within 30d',
    values: 'sluice traits values "Orders placed" --limit 100',
    enable: 'sluice traits enable "Orders placed"',
    disable: 'sluice traits disable "Orders placed"',
    why: 'sluice traits why "Orders placed" user-42',
    delete: 'sluice traits delete "Orders placed" --yes',
  });
  return examples(command, [
    [
      "What each user spent within 30 days",
      "sluice traits create 'Spent 30 days' --kind sum --event 'Order Completed' --property total --within 30d --destination Orders",
    ],
    ["A user's values", "sluice profiles get user-42"],
    ["Why one of them is what it is", "sluice traits why 'Spent 30 days' user-42"],
  ]);
}

/** Characters of a value that the table shows. */
const SHOWN_CHARACTERS = 80;

function valuesTable(values: readonly UserValueView[], io: Io): string {
  return table(
    ["USER", "VALUE"],
    values.map(({ userId, anonymousId, value }) => [
      userId ?? `anonymous ${anonymousId ?? ""}`,
      clip(terminalJson(value), SHOWN_CHARACTERS),
    ]),
    io.style.bold,
  );
}

function whyText(trait: ComputedTraitView, why: ValueWhyView, io: Io): string {
  const { userId, value, events, leftOut, windowFrom, changesAt, madeOf } = why;
  const lines = [
    `${terminalText(userId)}: ${terminalText(trait.name)} ${
      value === undefined ? "has no value" : `is ${clip(terminalJson(value), SHOWN_CHARACTERS)}`
    }, made of ${plural(events, "event", "events")}${windowFrom === undefined ? "" : ` since ${windowFrom}`}`,
    ...(changesAt === undefined ? [] : [`the next event leaves the window at ${changesAt}`]),
    ...(leftOut === undefined ? [] : [`${plural(leftOut, "event", "events")} left out: a limit was reached`]),
  ];
  const parts = table(
    ["MESSAGE", "VALUE", "TIMES", "AT"],
    madeOf.map(({ messageId, value: part, times, at }) => [
      messageId ?? "not stored any more",
      clip(terminalJson(part), SHOWN_CHARACTERS),
      times ?? 1,
      at,
    ]),
    io.style.bold,
  );
  return `${lines.join("\n")}\n${madeOf.length === 0 ? "" : parts}`;
}

function stateText({ state, progress, leftOut }: SyncView): string {
  const how = progress === 1 ? state : `${state} ${Math.floor(progress * 100)} %`;
  return leftOut === undefined
    ? how
    : `${how}; limits cut the values of ${plural(leftOut.users, "user", "users")}`;
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
      stateText(status),
    ]),
    io.style.bold,
  );
}
