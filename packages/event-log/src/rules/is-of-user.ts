import { type Identity, idOf } from "../message/identity.js";
import type { Rejection } from "../ports/rejections.js";

type KnownUsers = Pick<Rejection, "identities" | "excerpt">;

/**
 * Returns a function that tells whether deleting these ids removes a refused message. If the message has no id in the known fields,
 * its excerpt is searched for one of `requested` as a value, even if it is not JSON. Only the requested ids count there, because anybody
 * may have joined other ids to them. The excerpt is searched once, however many ids there are.
 */
export function ofUsers(
  identities: readonly Identity[],
  requested: readonly Identity[] = identities,
): (rejection: KnownUsers) => boolean {
  const wanted = new Set(identities);
  // An empty text is nobody's id, and stands in many excerpts.
  const isNamedIn = quotedIn([...new Set(requested.map(idOf))].filter((id) => id !== ""));
  return (rejection) =>
    wanted.size > 0 &&
    (rejection.identities?.some((identity) => wanted.has(identity)) === true ||
      ((rejection.identities ?? []).length === 0 && isNamedIn(rejection.excerpt)));
}

/** What follows a key. */
const COLON = /\s*:/y;

/** Whether the string that ends before `end` is a key: those are the sender's names for things, and no ids. */
function isKey(text: string, end: number): boolean {
  COLON.lastIndex = end;
  return COLON.test(text);
}

/** Whether a text has one of these ids as a JSON string that is no key. */
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
      if (close - open - 1 <= longest && plain.has(text.slice(open + 1, close)) && !isKey(text, close + 1))
        return true;
      open = close;
    }
    return withQuotes.some((quotes) => {
      for (let at = text.indexOf(quotes); at >= 0; at = text.indexOf(quotes, at + 1))
        if (!isKey(text, at + quotes.length)) return true;
      return false;
    });
  };
}
