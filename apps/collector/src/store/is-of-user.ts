import type { Rejection } from "./store.js";

/**
 * Tells whether the deletion of these users removes a refused message. Its text is looked at too, whether or not it is
 * JSON: it may name a user in other places than the known ones. The text is walked once, however many users there are.
 */
export function ofUsers(
  userIds: readonly string[],
): (rejection: Pick<Rejection, "users" | "excerpt">) => boolean {
  const ids = new Set(userIds);
  const quoted = userIds.map((id) => JSON.stringify(id));
  // An id that has quotes itself is not between two neighbouring ones.
  const withQuotes = quoted.filter((text) => text.indexOf('"', 1) < text.length - 1);
  const plain = new Set(quoted.map((text) => text.slice(1, -1)));
  const longest = Math.max(0, ...[...plain].map(({ length }) => length));

  const isNamedIn = (text: string): boolean => {
    let open = text.indexOf('"');
    while (open >= 0) {
      const close = text.indexOf('"', open + 1);
      if (close < 0) return false;
      if (close - open - 1 <= longest && plain.has(text.slice(open + 1, close))) return true;
      open = close;
    }
    return false;
  };
  return ({ users, excerpt }) =>
    ids.size > 0 &&
    (users?.some((user) => ids.has(user)) === true ||
      isNamedIn(excerpt) ||
      withQuotes.some((text) => excerpt.includes(text)));
}
