import type { AdminClient } from "@sluice/admin-client";
import type { ProfileView } from "@sluice/control-api";
import type { Command } from "commander";
import { readLimit, withLimit } from "../../arguments/limit.js";
import { type CommandOptions, connectedCommand } from "../../connection/connected-command.js";
import { connect } from "../../connection/connection.js";
import { examples, newGroup, subcommandExamples } from "../../definition/command.js";
import type { Io } from "../../terminal/io.js";
import { plural } from "../../terminal/plural.js";
import { show } from "../../terminal/show.js";
import { table } from "../../terminal/table.js";
import { clip } from "../../terminal/terminal-text.js";

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
  const group = newGroup("profiles", "search and show user profiles")
    .addCommand(listCommand(io))
    .addCommand(getCommand);
  subcommandExamples(group, {
    list: "sluice profiles list plan:pro -n 20",
    get: "sluice profiles get 42",
  });
  return examples(group, [
    ["Find a user by a part of an id or trait", "sluice profiles list ada@example.com"],
    ["A user's ids, traits, computed traits and audiences", "sluice profiles get user-42"],
  ]);
}

interface ListOptions extends CommandOptions {
  readonly limit: string;
}

function listCommand(io: Io): Command {
  const command = connectedCommand(
    "list",
    "list profiles, newest first, or search them by a part of any id or trait",
  ).argument("[text]", "a part of an id or a trait's value, or trait:value");
  return withLimit(command).action(async (text: string | undefined, options: ListOptions) => {
    const limit = readLimit(options.limit);
    const client = await connect(options, io);
    const found = await searchProfiles(client, { q: text, limit, signal: io.interrupted });
    await show(io, options.json, found, () => profilesTable(found.items, io));
    if (!options.json) io.err(`${io.errStyle.dim(searchNote(found))}\n`);
  });
}

type Found = Awaited<ReturnType<AdminClient["profiles"]["list"]>>;

/** Reads pages until the limit is reached, everything is searched, or the command is interrupted. */
async function searchProfiles(
  client: AdminClient,
  {
    q,
    limit,
    signal,
  }: { readonly q: string | undefined; readonly limit: number; readonly signal: AbortSignal },
): Promise<Found> {
  let page = await client.profiles.list({ q, limit });
  let { items, searched } = page;
  while (page.nextCursor !== undefined && items.length < limit && !signal.aborted) {
    page = await client.profiles.list({ q, limit: limit - items.length, cursor: page.nextCursor });
    items = [...items, ...page.items];
    searched += page.searched;
  }
  return { ...page, items, searched };
}

function searchNote({ items, searched, total, nextCursor }: Found): string {
  const count = `${items.length} shown, ${Math.min(searched, total).toLocaleString("en")} of ${plural(total, "profile", "profiles")} searched`;
  return nextCursor === undefined ? count : `${count}; there are more: use a higher --limit`;
}

function profilesTable(profiles: Found["items"], io: Io): string {
  if (profiles.length === 0) return "no profile matches\n";
  return table(
    ["USER", "LAST SEEN (UTC)", "TRAITS", "MATCH"],
    profiles.map(({ userId, anonymousId = "", lastSeenAt, traits, match }) => [
      clip(userId ?? `anonymous ${anonymousId}`, 40),
      `${lastSeenAt.slice(0, 10)} ${lastSeenAt.slice(11, 19)}`,
      clip(
        Object.entries(traits)
          .map(([name, value]) => `${name}: ${value}`)
          .join(", "),
        60,
      ),
      match === undefined ? "" : `${match.field}: ${clip(match.value, 40)}`,
    ]),
    io.style.bold,
  );
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
