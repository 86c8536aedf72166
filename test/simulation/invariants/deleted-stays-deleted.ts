import type { Invariant } from "./invariant.js";

/** Deletions of users. */
export const deletedStaysDeleted: Invariant = {
  name: "deleted-stays-deleted",
  promise:
    "A deletion ends. After it, no message of the user from before is in the log, in the bytes behind it, in any copy, in a retry or a profile, and none is sent again.",
  check({ cast, messages, dropped, logText, copies, deletions, profileIds, postsOf }) {
    const { history, destinations } = cast;
    const wrong: string[] = [];
    for (const { id, user, requestedAtMs } of history.deletions) {
      const state = deletions.get(id);
      // A receiver may refuse the delete message: then the deletion waits for somebody to send it again.
      if (state !== "finished" && state !== "undelivered")
        wrong.push(`the deletion of ${user} is ${state ?? "lost"}`);
      const purgedMs =
        history.purges.findLast(({ users }) => users.includes(user))?.atMs ?? Number.POSITIVE_INFINITY;
      const before = new Set(
        history.acknowledgements
          .filter(({ atMs }) => atMs < requestedAtMs)
          .flatMap(({ messageIds }) => messageIds)
          .filter((messageId) => history.users.get(messageId) === user),
      );
      for (const { messageId } of messages)
        if (before.has(messageId)) wrong.push(`${messageId} of ${user}, who was deleted, is in the log`);
      for (const messageId of before) {
        if (logText.includes(`"${messageId}"`))
          wrong.push(`the bytes of the log still hold ${messageId} of ${user}`);
        // A client may have sent it again after the deletion. Dedupe leaves it out when the entry is applied.
        for (const { name, text, atMs = 0 } of copies)
          if (atMs <= purgedMs && text.includes(`"${messageId}"`))
            wrong.push(`${name} still holds ${messageId} of ${user}`);
        for (const destination of destinations)
          for (const { atMs, url } of postsOf(destination, messageId))
            if (atMs > purgedMs)
              wrong.push(`${messageId} of ${user} was sent to ${url} at ${atMs}, after the deletion`);
      }
      const isBack = [...messages, ...dropped].some(
        ({ message, onlyDestinations }) => message.userId === user && onlyDestinations === undefined,
      );
      if (!isBack && profileIds.has(user)) wrong.push(`there is a profile of ${user}, who was deleted`);
    }
    return wrong;
  },
};
