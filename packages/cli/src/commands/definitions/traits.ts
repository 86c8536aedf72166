import type {
  ComputedTraitDefinition,
  ComputedTraitInput,
  ComputedTraitPatch,
  ComputedTraitView,
  SyncView,
  UserValueView,
  ValueWhyView,
} from "@sluice/control-api";
import { COMPUTED_TRAIT_KINDS, type ComputedTraitKind } from "@sluice/protocol";
import { type Command, Option } from "commander";
import { definedFields } from "../../arguments/defined-fields.js";
import { readDuration } from "../../arguments/numbers.js";
import { examples, subcommandExamples } from "../../definition/command.js";
import type { Io } from "../../terminal/io.js";
import { plural } from "../../terminal/plural.js";
import { table } from "../../terminal/table.js";
import { clip, terminalJson, terminalText } from "../../terminal/terminal-text.js";
import { type DefinitionOptions, definitionGroup, type ManagedDefinition } from "./managed-definition.js";
import { progressText } from "./progress-text.js";

interface TraitOptions extends DefinitionOptions {
  readonly kind?: ComputedTraitKind;
  readonly event?: string;
  readonly property?: string;
  readonly within?: string;
}

interface TraitTypes {
  readonly item: ComputedTraitView;
  readonly patch: ComputedTraitPatch;
  readonly user: UserValueView;
  readonly why: ValueWhyView;
  readonly options: TraitOptions;
}

const TRAITS: ManagedDefinition<TraitTypes> = {
  noun: "computed trait",
  argument: "trait",
  group: "traits",
  summary: "manage, preview and explain computed traits",
  summaries: {
    list: "list computed traits, oldest first",
    get: "show a computed trait with its sync progress",
    create: "create a computed trait and send every user's value to its destinations",
    update: "change a computed trait and send the values that differ; its key stays the same",
    preview: "show the values of a computed trait without creating it",
    users: "list users with a value",
    why: "explain a user's value: how many events, in which window, from which messages",
    delete: "delete a computed trait; nothing more is sent",
  },
  switches: [
    { name: "disable", summary: "stop syncing", patch: { enabled: false } },
    {
      name: "enable",
      summary: "start syncing again; first sends what has changed since it was disabled",
      patch: { enabled: true },
    },
  ],
  withDefinition(command, use) {
    const isMandatory = use !== "update";
    return command
      .addOption(
        new Option("--kind <kind>", "how the value is computed")
          .choices(COMPUTED_TRAIT_KINDS)
          .makeOptionMandatory(isMandatory),
      )
      .addOption(
        new Option("--event <event>", "the track event it is computed from").makeOptionMandatory(isMandatory),
      )
      .option("--property <property>", "the event's property; required by every kind except count")
      .option("--within <duration>", "use only events of this period up to now, such as 30d");
  },
  async readFields({ kind, event, property, within }, common) {
    const withinMs = within === undefined ? undefined : readDuration("--within", within);
    return { ...common, ...definedFields({ kind, event, property, withinMs }) };
  },
  // Commander has checked that name, kind and event are there.
  create: (client, fields) => client.computedTraits.create(fields as ComputedTraitInput),
  preview: (client, fields) => client.computedTraits.preview(fields as ComputedTraitDefinition),
  previewResult: "would have a value",
  list: (client, page) => client.computedTraits.list(page),
  patch: (client, id, fields, version) =>
    client.computedTraits.patch(id, { ...fields, ...definedFields({ version }) }),
  delete: (client, id) => client.computedTraits.delete(id),
  users: {
    command: "values",
    list: (client, id, page) => client.computedTraits.values(id, page),
    table: valuesTable,
  },
  why: (client, id, userId) => client.computedTraits.why(id, userId),
  whyText,
  table: (traits, io) =>
    table(
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
    ),
};

export function traitsCommand(io: Io): Command {
  const group = definitionGroup(TRAITS, io);
  subcommandExamples(group, {
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
  return examples(group, [
    [
      "How much each user spent in the last 30 days",
      "sluice traits create 'Spent 30 days' --kind sum --event 'Order Completed' --property total --within 30d --destination Orders",
    ],
    ["A user's values", "sluice profiles get user-42"],
    ["Why a user has this value", "sluice traits why 'Spent 30 days' user-42"],
  ]);
}

/** Characters of a value that tables show. */
const VALUE_WIDTH = 80;

function valuesTable(values: readonly UserValueView[], io: Io): string {
  return table(
    ["USER", "VALUE"],
    values.map(({ userId, anonymousId, value }) => [
      userId ?? `anonymous ${anonymousId ?? ""}`,
      clip(terminalJson(value), VALUE_WIDTH),
    ]),
    io.style.bold,
  );
}

function whyText({ name }: ComputedTraitView, why: ValueWhyView, io: Io): string {
  const { userId, value, events, leftOut, windowFrom, changesAt, madeOf } = why;
  const result = value === undefined ? "has no value" : `is ${clip(terminalJson(value), VALUE_WIDTH)}`;
  const window = windowFrom === undefined ? "" : ` since ${windowFrom}`;
  const lines = [
    `${terminalText(userId)}: ${terminalText(name)} ${result}, from ${plural(events, "event", "events")}${window}`,
    ...(changesAt === undefined ? [] : [`the next event leaves the window at ${changesAt}`]),
    ...(leftOut === undefined ? [] : [`${plural(leftOut, "event", "events")} not used: a limit was reached`]),
  ];
  const messages = table(
    ["MESSAGE", "VALUE", "TIMES", "AT"],
    madeOf.map(({ messageId, value: part, times, at }) => [
      messageId ?? "no longer stored",
      clip(terminalJson(part), VALUE_WIDTH),
      times ?? 1,
      at,
    ]),
    io.style.bold,
  );
  return `${lines.join("\n")}\n${madeOf.length === 0 ? "" : messages}`;
}

function stateText(status: SyncView): string {
  const { leftOut } = status;
  if (leftOut === undefined) return progressText(status);
  return `${progressText(status)}; limits cut the values of ${plural(leftOut.users, "user", "users")}`;
}
