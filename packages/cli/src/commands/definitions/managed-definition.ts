import type { AdminClient, PageOptions } from "@sluice/admin-client";
import type { ListAnswer } from "@sluice/control-api";
import type { Command } from "commander";
import { definedFields } from "../../arguments/defined-fields.js";
import { readLimit, withLimit } from "../../arguments/limit.js";
import { collectUpTo } from "../../connection/collect.js";
import { type CommandOptions, connectedCommand } from "../../connection/connected-command.js";
import { connect } from "../../connection/connection.js";
import { findIds } from "../../connection/find-by-name.js";
import { newGroup } from "../../definition/command.js";
import type { Io } from "../../terminal/io.js";
import { show } from "../../terminal/show.js";
import {
  type ManagedResource,
  type ResourceCommands,
  resourceCommands,
} from "../resources/managed-resource.js";

export interface DefinitionOptions extends CommandOptions {
  readonly name?: string;
  readonly destination?: string[];
}

/** The types that differ between audiences and computed traits. */
export interface DefinitionTypes {
  /** A definition as the control API shows it. */
  readonly item: { readonly id: string; readonly name: string; readonly version: number };
  /** A change as the control API takes it. */
  readonly patch: object;
  /** A row of the list of users. */
  readonly user: unknown;
  /** The answer to `why`. */
  readonly why: unknown;
  readonly options: DefinitionOptions;
}

/** Fields that every definition has, as the control API takes them. */
export interface CommonFields {
  readonly name?: string;
  readonly destinationIds?: string[];
}

/**
 * A definition that the collector evaluates for every user: an audience or a computed trait. It holds what differs between the
 * two; `definitionGroup` makes the commands.
 */
export interface ManagedDefinition<T extends DefinitionTypes> extends ManagedResource<T["item"]> {
  /** The name of the group: `audiences`. */
  readonly group: string;
  readonly summary: string;
  /** Descriptions of the subcommands that both have. */
  readonly summaries: {
    readonly [Name in "list" | "get" | "create" | "update" | "preview" | "users" | "why" | "delete"]: string;
  };
  /** Subcommands that only set a flag, such as `pause`. */
  readonly switches: readonly {
    readonly name: string;
    readonly summary: string;
    readonly patch: T["patch"];
  }[];
  /** Adds the options of the definition itself. They are mandatory for `create` and `preview`. */
  withDefinition(command: Command, use: "create" | "update" | "preview"): Command;
  /** Adds options that only `create` and `update` have. */
  withSync?(command: Command): Command;
  /** The fields that were given, as the control API takes them. */
  readFields(options: T["options"], common: CommonFields, io: Io): Promise<T["patch"]>;
  create(client: AdminClient, fields: T["patch"]): Promise<T["item"]>;
  patch(client: AdminClient, id: string, fields: T["patch"], version?: number): Promise<T["item"]>;
  preview(
    client: AdminClient,
    fields: T["patch"],
  ): Promise<{
    readonly size: number;
    readonly evaluated: number;
    readonly tookMs: number;
    readonly sample: readonly T["user"][];
  }>;
  /** The end of the sentence `3 of 10 users …`. */
  readonly previewResult: string;
  readonly users: {
    /** The name of the subcommand: `members`. */
    readonly command: string;
    list(client: AdminClient, id: string, page: PageOptions): Promise<ListAnswer<T["user"]>>;
    table(users: readonly T["user"][], io: Io): string;
  };
  why(client: AdminClient, id: string, userId: string): Promise<T["why"]>;
  whyText(item: T["item"], why: T["why"], io: Io): string;
}

/** The group of commands for a kind of definition. */
export function definitionGroup<T extends DefinitionTypes>(
  definition: ManagedDefinition<T>,
  io: Io,
): Command {
  const { summaries, switches } = definition;
  const commands = resourceCommands(definition, io);
  const group = newGroup(definition.group, definition.summary)
    .addCommand(commands.list(summaries.list))
    .addCommand(commands.get(summaries.get))
    .addCommand(createCommand(definition, commands, io))
    .addCommand(updateCommand(definition, commands, io));
  for (const { name, summary, patch } of switches)
    group.addCommand(commands.change(name, summary, (client, { id }) => definition.patch(client, id, patch)));
  return group
    .addCommand(previewCommand(definition, io))
    .addCommand(usersCommand(definition, commands, io))
    .addCommand(whyCommand(definition, commands, io))
    .addCommand(commands.remove(summaries.delete, { verb: "delete" }));
}

function createCommand<T extends DefinitionTypes>(
  definition: ManagedDefinition<T>,
  { showItem }: ResourceCommands<T["item"]>,
  io: Io,
): Command {
  const command = connectedCommand("create", definition.summaries.create).argument("<name>");
  return withFields(definition, definition.withDefinition(command, "create")).action(
    async (name: string, options: T["options"]) => {
      const client = await connect(options, io);
      const fields = await readFields(definition, { ...options, name }, client, io);
      await showItem(await definition.create(client, fields), options);
    },
  );
}

function updateCommand<T extends DefinitionTypes>(
  definition: ManagedDefinition<T>,
  { forOne, showItem }: ResourceCommands<T["item"]>,
  io: Io,
): Command {
  const command = forOne<T["options"]>(
    "update",
    definition.summaries.update,
    async ({ client, item: { id, version } }, options) => {
      const fields = await readFields(definition, options, client, io);
      await showItem(await definition.patch(client, id, fields, version), options);
    },
  ).option("--name <name>", "a new name");
  return withFields(definition, definition.withDefinition(command, "update"));
}

function withFields<T extends DefinitionTypes>(definition: ManagedDefinition<T>, command: Command): Command {
  command.option("--destination <destination...>", "ids or names of the destinations to send changes to");
  return definition.withSync?.(command) ?? command;
}

async function readFields<T extends DefinitionTypes>(
  definition: ManagedDefinition<T>,
  options: T["options"],
  client: AdminClient,
  io: Io,
): Promise<T["patch"]> {
  const { name, destination } = options;
  const destinationIds = await findIds("destination", destination, (page) => client.destinations.list(page));
  return definition.readFields(options, definedFields({ name, destinationIds }), io);
}

function previewCommand<T extends DefinitionTypes>(definition: ManagedDefinition<T>, io: Io): Command {
  const command = connectedCommand("preview", definition.summaries.preview);
  return definition.withDefinition(command, "preview").action(async (options: T["options"]) => {
    const client = await connect(options, io);
    const preview = await definition.preview(client, await definition.readFields(options, {}, io));
    await show(io, options.json, preview, () => {
      const { size, evaluated, tookMs, sample } = preview;
      const result = `${size} of ${evaluated} users ${definition.previewResult} (found in ${Math.round(tookMs)} ms)`;
      return `${result}\n${definition.users.table(sample, io)}`;
    });
  });
}

function usersCommand<T extends DefinitionTypes>(
  { users, summaries }: ManagedDefinition<T>,
  { forOne }: ResourceCommands<T["item"]>,
  io: Io,
): Command {
  return withLimit(
    forOne<CommandOptions & { readonly limit: string }>(
      users.command,
      summaries.users,
      async ({ client, item }, options) => {
        const limit = readLimit(options.limit);
        const found = await collectUpTo(limit, (page) => users.list(client, item.id, page));
        await show(io, options.json, found, () => users.table(found.items, io));
      },
    ),
  );
}

function whyCommand<T extends DefinitionTypes>(
  definition: ManagedDefinition<T>,
  { forOne }: ResourceCommands<T["item"]>,
  io: Io,
): Command {
  return forOne("why", definition.summaries.why, async ({ client, item }, options, userId = "") => {
    const why = await definition.why(client, item.id, userId);
    await show(io, options.json, why, () => definition.whyText(item, why, io));
  }).argument("<userId>");
}
