import type { Command } from "commander";
import { type ConnectionOptions, connect, withConnection } from "../../connection/connection.js";
import { exampleOfEach, examples, newCommand, newGroup } from "../../definition/command.js";
import type { Io } from "../../terminal/io.js";
import { show } from "../../terminal/show.js";
import { table } from "../../terminal/table.js";

interface Options extends ConnectionOptions {
  readonly json?: boolean;
}

export function profilesCommand(io: Io): Command {
  const command = newGroup("profiles", "see what is known of a user");
  command.addCommand(
    withConnection(newCommand("get", "one user's profile, by any id that it answers to"))
      .argument("<userId>")
      .action(async (userId: string, options: Options) => {
        const client = await connect(options, io);
        const profile = await client.profiles.get(userId);
        await show(io, options.json, profile, () =>
          table(
            ["WHAT", "VALUE"],
            [
              ["user", profile.userId ?? `anonymous ${profile.anonymousId ?? ""}`],
              ["also user", others(profile.identities.userIds, profile.userId)],
              [
                "anonymous",
                others(
                  // An alias joins its previous id as both kinds.
                  profile.identities.anonymousIds.filter(
                    (id) => id === profile.userId || !profile.identities.userIds.includes(id),
                  ),
                  profile.userId === undefined ? profile.anonymousId : undefined,
                ),
              ],
              ["first seen", profile.firstSeenAt],
              ["last seen", profile.lastSeenAt],
              ...Object.entries(profile.traits).map(([name, value]) => [
                `trait ${name}`,
                JSON.stringify(value),
              ]),
              ...Object.entries(profile.computedTraits).map(([name, value]) => [
                `computed ${name}`,
                JSON.stringify(value),
              ]),
              ...profile.audiences.map(({ key, member, since }) => [
                `audience ${key}`,
                `${member ? "in" : "out"} since ${since}`,
              ]),
            ],
            io.style.bold,
          ),
        );
      }),
  );
  exampleOfEach(command, {
    get: "sluice profiles get 42",
  });
  return examples(command, [["What is known of a user", "sluice profiles get user-42"]]);
}

/** Each id once, without the one that the profile is shown under. */
function others(ids: readonly string[], shown: string | undefined): string {
  return [...new Set(ids)].filter((id) => id !== shown).join(", ");
}
