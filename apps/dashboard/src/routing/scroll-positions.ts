/** The scroll positions of the entries in the browser's history, since the dashboard was loaded. */
export interface ScrollPositions {
  /** Stores a position of the current history entry. */
  keep(name: string, position: unknown): void;
  /** The stored position of the current history entry. Undefined: none, as after following a link. */
  recall(name: string): unknown;
  /** The state for a new history entry. */
  newEntry(): object;
}

export function scrollPositions(browser: Pick<History, "state">): ScrollPositions {
  const positions = new Map<string, unknown>();
  const key = (name: string): string => `${entryOf(browser.state)} ${name}`;
  // A reload keeps the history but not this map, so the keys must not repeat.
  const loaded = Date.now();
  let entries = 0;
  return {
    keep: (name, position) => void positions.set(key(name), position),
    recall: (name) => positions.get(key(name)),
    newEntry: () => {
      entries += 1;
      return { entry: `${loaded}-${entries}` };
    },
  };
}

function entryOf(state: unknown): string {
  if (typeof state !== "object" || state === null || !("entry" in state)) return "first";
  return String(state.entry);
}
