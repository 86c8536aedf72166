import type { History } from "../actors/history.js";
import { ownerOf, usersOf } from "../model/identities.js";
import type { FinishedRun, Invariant } from "./invariant.js";

type Deletion = History["deletions"][number];

/** Deletions of users and visitors. */
export const deletedStaysDeleted: Invariant = {
  name: "deleted-stays-deleted",
  promise:
    "A deletion ends. After it, no message of the user from before is in the log, in the bytes behind it, in any copy, in a retry or a profile, and none is sent again, nor what the user did as a visitor. Messages of others stay.",
  check(run) {
    const { cast, deletions, profileIds, messages, dropped } = run;
    const wrong: string[] = [];
    for (const deletion of cast.history.deletions) {
      const state = deletions.get(deletion.id);
      // A receiver may refuse the delete message: then the deletion waits for somebody to send it again.
      if (state !== "finished" && state !== "undelivered")
        wrong.push(`the deletion of ${deletion.identity} is ${state ?? "lost"}`);
      wrong.push(...leftOf(run, deletion));
      const user = deletion.identity.slice(2);
      const own = [...messages, ...dropped].filter(
        ({ message, onlyDestinations }) =>
          (message.userId === user || (message as { previousId?: unknown }).previousId === user) &&
          onlyDestinations === undefined,
      );
      const isBack = own.some(({ sourceId }) => cast.sources.some(({ id }) => id === sourceId));
      if (!deletion.identity.startsWith("u:") || isBack) continue;
      if (profileIds.has(user)) wrong.push(`there is a profile of ${user}, who was deleted`);
      for (const { messageId } of own) wrong.push(`${messageId} says something of ${user}, who was deleted`);
    }
    return wrong;
  },
};

function leftOf({ cast, messages, logText, copies, postsOf }: FinishedRun, deletion: Deletion): string[] {
  const { history, destinations } = cast;
  const { identity } = deletion;
  const wrong: string[] = [];
  const purgedMs =
    history.purges.findLast(({ identities }) => identities.includes(identity))?.atMs ??
    Number.POSITIVE_INFINITY;
  const gone = goneWith(history, deletion);
  for (const { messageId } of messages)
    if (gone.has(messageId)) wrong.push(`${messageId} of ${identity}, who was deleted, is in the log`);
  for (const messageId of gone) {
    if (logText.includes(`"${messageId}"`))
      wrong.push(`the bytes of the log still hold ${messageId} of ${identity}`);
    // A client may have sent it again after the deletion. Dedupe leaves it out when the entry is applied.
    for (const { name, text, atMs = 0 } of copies)
      if (atMs <= purgedMs && text.includes(`"${messageId}"`))
        wrong.push(`${name} still holds ${messageId} of ${identity}`);
    for (const destination of destinations)
      for (const { atMs, url } of postsOf(destination, messageId))
        if (atMs > purgedMs)
          wrong.push(`${messageId} of ${identity} was sent to ${url} at ${atMs}, after the deletion`);
  }
  return wrong;
}

/** The messages that must be gone: acknowledged before, and of the id itself, or of a visitor who is certainly joined to it. */
function goneWith({ acknowledgements, fields, deletions }: History, deletion: Deletion): Set<string> {
  const { identity, requestedAtMs } = deletion;
  const before = new Map<string, number>();
  for (const { messageIds, atMs } of acknowledgements)
    for (const messageId of messageIds)
      if (atMs < requestedAtMs && !before.has(messageId)) before.set(messageId, atMs);
  /** A deletion also forgets which visitors were joined to a user. */
  const since = deletions.filter((other) => other !== deletion && other.requestedAtMs <= requestedAtMs);
  const forgottenMs = Math.max(0, ...since.map(({ answeredAtMs }) => answeredAtMs));
  const visitors = new Set<string>();
  for (const [messageId, atMs] of before) {
    const { userId, anonymousId, previousId } = fields.get(messageId) ?? {};
    if (`u:${String(userId)}` !== identity || (forgottenMs > 0 && atMs <= forgottenMs + SETTLED_MS)) continue;
    for (const visitor of [anonymousId, previousId])
      if (visitor !== undefined && usersOf(fields, String(visitor)).size === 1)
        visitors.add(`a:${String(visitor)}`);
  }
  return new Set(
    [...before.keys()].filter((messageId) => {
      const owner = ownerOf(fields.get(messageId) ?? {});
      return owner === identity || visitors.has(owner);
    }),
  );
}

/** A deletion that was asked for may take this long to forget the ids, if a disk fails. */
const SETTLED_MS = 4 * 3_600_000;
