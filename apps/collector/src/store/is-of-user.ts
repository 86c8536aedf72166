import { type Identity, idOf, isUserIdentity } from "../messages/identity.js";
import type { Rejection } from "./store.js";

type KnownUsers = Pick<Rejection, "users" | "identities" | "excerpt">;

/**
 * Tells whether the deletion of these ids removes a refused message. The excerpt is searched too, whether or not it is JSON, since it
 * may name the user outside the known fields; but not where the message says that it is another user's. It is searched once,
 * however many ids there are.
 */
export function ofUsers(identities: readonly Identity[]): (rejection: KnownUsers) => boolean {
  const wanted = new Set(identities);
  const ids = new Set(identities.map(idOf));
  const isNamedIn = quotedIn([...ids]);
  return (rejection) =>
    wanted.size > 0 &&
    (rejection.identities?.some((identity) => wanted.has(identity)) === true ||
      // An older version stored ids without their kind.
      rejection.users?.some((id) => ids.has(id)) === true ||
      (rejection.identities?.some(isUserIdentity) !== true && isNamedIn(rejection.excerpt)));
}

/** Whether a text has one of these ids as a JSON string. */
function quotedIn(ids: readonly string[]): (text: string) => boolean {
  const quoted = ids.map((id) => JSON.stringify(id));
  // An id that has quotes itself is not between two neighbouring ones.
  const withQuotes = quoted.filter((text) => text.indexOf('"', 1) < text.length - 1);
  const plain = new Set(quoted.map((text) => text.slice(1, -1)));
  const longest = Math.max(0, ...[...plain].map(({ length }) => length));
  return (text) => {
    for (let open = text.indexOf('"'); open >= 0; ) {
      const close = text.indexOf('"', open + 1);
      if (close < 0) break;
      if (close - open - 1 <= longest && plain.has(text.slice(open + 1, close))) return true;
      open = close;
    }
    return withQuotes.some((quotes) => text.includes(quotes));
  };
}
