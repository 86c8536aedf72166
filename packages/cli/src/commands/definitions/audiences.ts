import { allPages } from "@sluice/admin-client";
import type { AudienceView, MemberView } from "@sluice/protocol";
import type { Command } from "commander";
import { readDuration, readInteger } from "../../arguments/numbers.js";
import { type ConnectionOptions, connect, withConnection } from "../../connection/connection.js";
import { findByName } from "../../connection/find-by-name.js";
import { exampleOfEach, examples, newCommand, newGroup } from "../../definition/command.js";
import { confirmRemoval } from "../../terminal/confirm.js";
import type { Io } from "../../terminal/io.js";
import { show } from "../../terminal/show.js";
import { table } from "../../terminal/table.js";
import { terminalText } from "../../terminal/terminal-text.js";
import { explanationLines } from "./explanation-lines.js";
import { readCondition } from "./read-condition.js";

interface Options extends ConnectionOptions {
  readonly json?: boolean;
}

interface Given extends Options {
  readonly name?: string;
  readonly condition?: string;
  readonly destination?: string[];
  readonly initialDelay?: string;
  readonly every?: string;
  readonly trackEvents?: boolean;
}

export function audiencesCommand(io: Io): Command {
  const command = newGroup("audiences", "list, make, preview and explain audiences");
  const sub = (name: string, summary: string): Command => withConnection(newCommand(name, summary));
  const find = async (wanted: string, options: Options) => {
    const client = await connect(options, io);
    const audience = await findByName("audience", wanted, (page) => client.audiences.list(page));
    return { client, audience };
  };
  /** The fields that were given, as the API wants them. */
  const body = async (given: Given, client: Awaited<ReturnType<typeof connect>>) => {
    const destinationIds = [];
    for (const wanted of given.destination ?? [])
      destinationIds.push((await findByName("destination", wanted, (of) => client.destinations.list(of))).id);
    const sync = {
      ...(given.initialDelay === undefined
        ? {}
        : { initialDelayMs: readDuration("--initial-delay", given.initialDelay) }),
      ...(given.every === undefined ? {} : { everyMs: readDuration("--every", given.every) }),
    };
    return {
      ...(given.name === undefined ? {} : { name: given.name }),
      ...(given.condition === undefined ? {} : { condition: await readCondition(given.condition, io) }),
      ...(given.destination === undefined ? {} : { destinationIds }),
      ...(Object.keys(sync).length === 0 ? {} : { sync }),
      ...(given.trackEvents === undefined ? {} : { trackEvents: given.trackEvents }),
    };
  };
  const withFields = (to: Command): Command =>
    to
      .option("--destination <destination...>", "destinations that are told: ids or names")
      .option("--initial-delay <duration>", "from its creation to the first sending, such as 30s or 6h")
      .option("--every <duration>", "between two sendings, such as 2h; 0: every change at once")
      .option("--track-events", "also send track Audience Entered and Audience Exited");

  command.addCommand(
    sub("list", "all audiences, oldest first").action(async (options: Options) => {
      const client = await connect(options, io);
      const audiences: AudienceView[] = [];
      for await (const audience of allPages((cursor) => client.audiences.list({ cursor })))
        audiences.push(audience);
      await show(io, options.json, { items: audiences }, () => audiencesTable(audiences, io));
    }),
  );
  command.addCommand(
    sub("get", "one audience: its size and how far its sync is")
      .argument("<audience>", "its id or name")
      .action(async (wanted: string, options: Options) => {
        const { audience } = await find(wanted, options);
        await show(io, options.json, audience, () => audiencesTable([audience], io));
      }),
  );
  command.addCommand(
    withFields(
      sub("create", "make an audience; its destinations are told of everybody who is in it already")
        .argument("<name>")
        .requiredOption("--condition <json>", "who is in it: JSON, or @FILE"),
    ).action(async (name: string, options: Given & { readonly condition: string }) => {
      const client = await connect(options, io);
      const condition = await readCondition(options.condition, io);
      const audience = await client.audiences.create({
        ...(await body(options, client)),
        name,
        condition,
      });
      await show(io, options.json, audience, () => audiencesTable([audience], io));
    }),
  );
  command.addCommand(
    withFields(
      sub("update", "change an audience: only what differs by it is sent; the key stays")
        .argument("<audience>", "its id or name")
        .option("--name <name>", "its new name")
        .option("--condition <json>", "who is in it from now on: JSON, or @FILE"),
    ).action(async (wanted: string, options: Given) => {
      const { client, audience } = await find(wanted, options);
      const changed = await client.audiences.patch(audience.id, {
        ...(await body(options, client)),
        version: audience.version,
      });
      await show(io, options.json, changed, () => audiencesTable([changed], io));
    }),
  );
  for (const [name, summary, change] of [
    ["pause", "hold the sync and everything that would be sent", { paused: true }],
    ["resume", "go on with it", { paused: false }],
    ["disable", "send nothing more", { enabled: false }],
    ["enable", "send again, beginning with what is different by now", { enabled: true }],
  ] as const) {
    command.addCommand(
      sub(name, summary)
        .argument("<audience>", "its id or name")
        .action(async (wanted: string, options: Options) => {
          const { client, audience } = await find(wanted, options);
          const changed = await client.audiences.patch(audience.id, change);
          await show(io, options.json, changed, () => audiencesTable([changed], io));
        }),
    );
  }
  command.addCommand(
    sub("preview", "who would be in an audience, before there is one")
      .requiredOption("--condition <json>", "JSON, or @FILE")
      .action(async (options: Options & { condition: string }) => {
        const client = await connect(options, io);
        const preview = await client.audiences.preview(await readCondition(options.condition, io));
        await show(io, options.json, preview, () =>
          [
            `${preview.size} of ${preview.evaluated} users would be in it (found in ${Math.round(preview.tookMs)} ms)\n`,
            membersTable(preview.sample, io),
          ].join(""),
        );
      }),
  );
  command.addCommand(
    sub("members", "who is in an audience")
      .argument("<audience>", "its id or name")
      .option("-n, --limit <n>", "at most so many", "50")
      .action(async (wanted: string, options: Options & { limit: string }) => {
        const limit = readInteger("--limit", options.limit, 1, 500);
        const { client, audience } = await find(wanted, options);
        const page = await client.audiences.members(audience.id, { limit });
        await show(io, options.json, page, () => membersTable(page.items, io));
      }),
  );
  command.addCommand(
    sub("why", "why a user is in or out, node by node")
      .argument("<audience>", "its id or name")
      .argument("<userId>")
      .action(async (wanted: string, userId: string, options: Options) => {
        const { client, audience } = await find(wanted, options);
        const why = await client.audiences.why(audience.id, userId);
        await show(
          io,
          options.json,
          why,
          () =>
            `${terminalText(userId)} is ${why.member ? "in" : "not in"} ${terminalText(audience.name)}${
              why.since === undefined ? "" : ` since ${why.since}`
            }\n${explanationLines(why.explanation, 1)}`,
        );
      }),
  );
  command.addCommand(
    sub("delete", "delete an audience: nothing more is sent, members are not told that they left")
      .argument("<audience>", "its id or name")
      .option("--yes", "do not ask")
      .action(async (wanted: string, options: Options & { yes?: boolean }) => {
        const { client, audience } = await find(wanted, options);
        await confirmRemoval(
          {
            what: `This deletes the audience ${audience.name} (${audience.id})`,
            question: `Delete the audience ${audience.name} (${audience.id})?`,
            declined: "Nothing was deleted.",
            isYes: options.yes === true,
          },
          io,
        );
        await client.audiences.delete(audience.id);
        await show(io, options.json, { deleted: audience.id }, () => `deleted ${audience.id}\n`);
      }),
  );
  exampleOfEach(command, {
    list: "sluice audiences list",
    get: 'sluice audiences get "Pro users"',
    create: `sluice audiences create "Pro users" --condition '{"kind":"trait","trait":"plan","is":"equals","value":"pro"}'`,
    update: 'sluice audiences update "Pro users" --name "Paying users"',
    pause: 'sluice audiences pause "Pro users"',
    resume: 'sluice audiences resume "Pro users"',
    enable: 'sluice audiences enable "Pro users"',
    disable: 'sluice audiences disable "Pro users"',
    preview: "sluice audiences preview --condition @pro.json",
    members: 'sluice audiences members "Pro users" --limit 100',
    why: 'sluice audiences why "Pro users" 42',
    delete: 'sluice audiences delete "Pro users" --yes',
  });
  return examples(command, [
    [
      "Everybody who ordered twice within a week",
      `sluice audiences create 'Keen buyers' --condition '{"kind":"event","event":"Order Completed","times":{"atLeast":2},"withinMs":604800000}' --destination Orders`,
    ],
    ["Who would be in it", "sluice audiences preview --condition @keen-buyers.json"],
    ["Why somebody is not", "sluice audiences why 'Keen buyers' user-42"],
  ]);
}

function audiencesTable(audiences: readonly AudienceView[], io: Io): string {
  return table(
    ["ID", "NAME", "KEY", "MEMBERS", "STATE"],
    audiences.map(({ id, name, key, size, status }) => [
      id,
      name,
      key,
      size,
      status.progress === 1 ? status.state : `${status.state} ${Math.floor(status.progress * 100)} %`,
    ]),
    io.style.bold,
  );
}

function membersTable(members: readonly MemberView[], io: Io): string {
  return table(
    ["USER", "SINCE"],
    members.map(({ userId, anonymousId, since }) => [
      userId ?? `anonymous ${anonymousId ?? ""}`,
      since ?? "",
    ]),
    io.style.bold,
  );
}
