import type { ProfileView } from "@sluice/control-api";
import type { Command } from "commander";
import { type CommandOptions, connectedCommand } from "../../connection/connected-command.js";
import { connect } from "../../connection/connection.js";
import { examples, newGroup, subcommandExamples } from "../../definition/command.js";
import type { Io } from "../../terminal/io.js";
import { show } from "../../terminal/show.js";
import { table } from "../../terminal/table.js";

export function profilesCommand(io: Io): Command {
  const getCommand = connectedCommand("get", "show a user's profile, found by any of its ids")
    .argument("<userId>")
    .action(async (userId: string, options: CommandOptions) => {
      const client = await connect(options, io);
      const profile = await client.profiles.get(userId);
      await show(io, options.json, profile, () =>
        table(["WHAT", "VALUE"], profileRows(profile), io.style.bold),
      );
    });
  const group = newGroup("profiles", "show user profiles").addCommand(getCommand);
  subcommandExamples(group, { get: "sluice profiles get 42" });
  return examples(group, [
    ["A user's ids, traits, computed traits and audiences", "sluice profiles get user-42"],
  ]);
}

function profileRows(profile: ProfileView): [string, string][] {
  const { userId, anonymousId, identities, traits, computedTraits, audiences } = profile;
  // An alias joins its previous id as a user id and as an anonymous id.
  const anonymousIds = identities.anonymousIds.filter(
    (id) => id === userId || !identities.userIds.includes(id),
  );
  return [
    ["user", userId ?? `anonymous ${anonymousId ?? ""}`],
    ["also user", otherIds(identities.userIds, userId)],
    ["anonymous", otherIds(anonymousIds, userId === undefined ? anonymousId : undefined)],
    ["first seen", profile.firstSeenAt],
    ["last seen", profile.lastSeenAt],
    ...jsonRows("trait", traits),
    ...jsonRows("computed", computedTraits),
    ...audiences.map(({ key, member, since }): [string, string] => [
      `audience ${key}`,
      `${member ? "in" : "out"} since ${since}`,
    ]),
  ];
}

function jsonRows(label: string, values: { readonly [name: string]: unknown }): [string, string][] {
  return Object.entries(values).map(([name, value]) => [`${label} ${name}`, JSON.stringify(value)]);
}

/** The ids without duplicates and without the one that is shown already. */
function otherIds(ids: readonly string[], shown: string | undefined): string {
  return [...new Set(ids)].filter((id) => id !== shown).join(", ");
}
