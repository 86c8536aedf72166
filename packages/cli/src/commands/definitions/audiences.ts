import type { AudienceInput, AudiencePatch, AudienceView, MemberView, WhyView } from "@sluice/control-api";
import type { Condition } from "@sluice/protocol";
import type { Command } from "commander";
import { definedFields } from "../../arguments/defined-fields.js";
import { readDuration } from "../../arguments/numbers.js";
import { examples, subcommandExamples } from "../../definition/command.js";
import type { Io } from "../../terminal/io.js";
import { table } from "../../terminal/table.js";
import { terminalText } from "../../terminal/terminal-text.js";
import { explanationLines } from "./explanation-lines.js";
import { type DefinitionOptions, definitionGroup, type ManagedDefinition } from "./managed-definition.js";
import { progressText } from "./progress-text.js";
import { readCondition } from "./read-condition.js";

interface AudienceOptions extends DefinitionOptions {
  readonly condition?: string;
  readonly initialDelay?: string;
  readonly every?: string;
  readonly trackEvents?: boolean;
}

interface AudienceTypes {
  readonly item: AudienceView;
  readonly patch: AudiencePatch;
  readonly user: MemberView;
  readonly why: WhyView;
  readonly options: AudienceOptions;
}

const AUDIENCES: ManagedDefinition<AudienceTypes> = {
  noun: "audience",
  argument: "audience",
  group: "audiences",
  summary: "manage, preview and explain audiences",
  summaries: {
    list: "list audiences, oldest first",
    get: "show an audience with its size and sync progress",
    create: "create an audience and send its current members to its destinations",
    update: "change an audience and send the difference in members; its key stays the same",
    preview: "show which users a condition matches, without creating an audience",
    users: "list the members of an audience",
    why: "explain for each part of the condition why a user is or is not a member",
    delete: "delete an audience; nothing more is sent, not even that its members have left",
  },
  switches: [
    { name: "pause", summary: "pause syncing; changes are sent after resume", patch: { paused: true } },
    { name: "resume", summary: "resume syncing", patch: { paused: false } },
    { name: "disable", summary: "stop syncing", patch: { enabled: false } },
    {
      name: "enable",
      summary: "start syncing again; first sends what has changed since it was disabled",
      patch: { enabled: true },
    },
  ],
  withDefinition: (command, use) => {
    const description = "the condition for members: JSON, or @FILE";
    return use === "update"
      ? command.option("--condition <json>", description)
      : command.requiredOption("--condition <json>", description);
  },
  withSync: (command) =>
    command
      .option("--initial-delay <duration>", "time from creation to the first sync, such as 30s or 6h")
      .option("--every <duration>", "time between syncs, such as 2h; 0 sends every change immediately")
      .option("--track-events", "also send the track events Audience Entered and Audience Exited"),
  async readFields({ condition, initialDelay, every, trackEvents }, common, io) {
    const sync = definedFields({
      initialDelayMs: initialDelay === undefined ? undefined : readDuration("--initial-delay", initialDelay),
      everyMs: every === undefined ? undefined : readDuration("--every", every),
    });
    return {
      ...common,
      ...definedFields({
        condition: condition === undefined ? undefined : await readCondition(condition, io),
        sync: Object.keys(sync).length === 0 ? undefined : sync,
        trackEvents,
      }),
    };
  },
  // Commander has checked that name and condition are there.
  create: (client, fields) => client.audiences.create(fields as AudienceInput),
  preview: (client, { condition }) => client.audiences.preview(condition as Condition),
  previewResult: "match",
  list: (client, page) => client.audiences.list(page),
  patch: (client, id, fields, version) =>
    client.audiences.patch(id, { ...fields, ...definedFields({ version }) }),
  delete: (client, id) => client.audiences.delete(id),
  users: {
    command: "members",
    list: (client, id, page) => client.audiences.members(id, page),
    table: membersTable,
  },
  why: (client, id, userId) => client.audiences.why(id, userId),
  whyText({ name }, { userId, member, since, explanation }) {
    const sinceText = since === undefined ? "" : ` since ${since}`;
    return `${terminalText(userId)} is ${member ? "in" : "not in"} ${terminalText(name)}${sinceText}\n${explanationLines(explanation, 1)}`;
  },
  table: (audiences, io) =>
    table(
      ["ID", "NAME", "KEY", "MEMBERS", "STATE"],
      audiences.map(({ id, name, key, size, status }) => [id, name, key, size, progressText(status)]),
      io.style.bold,
    ),
};

export function audiencesCommand(io: Io): Command {
  const group = definitionGroup(AUDIENCES, io);
  subcommandExamples(group, {
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
  return examples(group, [
    [
      "Users who ordered at least twice within a week",
      `sluice audiences create 'Keen buyers' --condition '{"kind":"event","event":"Order Completed","times":{"atLeast":2},"withinMs":604800000}' --destination Orders`,
    ],
    ["Who would be a member", "sluice audiences preview --condition @keen-buyers.json"],
    ["Why a user is not a member", "sluice audiences why 'Keen buyers' user-42"],
  ]);
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
