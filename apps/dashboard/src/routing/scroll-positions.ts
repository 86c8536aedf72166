/** Where one was on each page that the browser's Back and Forward lead to, since the dashboard was loaded. */
export interface ScrollPositions {
  /** Keeps a place of the page that is shown now. */
  keep(name: string, place: unknown): void;
  /** What was kept when the page was shown last; undefined where one came by a link. */
  recall(name: string): unknown;
  /** The state of a new step of the history. */
  newStep(): object;
}

export function scrollPositions(browser: Pick<History, "state">): ScrollPositions {
  const places = new Map<string, unknown>();
  const key = (name: string): string => `${stepOf(browser.state)} ${name}`;
  // A reload keeps the steps of the history, but not this map: their numbers must not come again.
  const loaded = Date.now();
  let steps = 0;
  return {
    keep: (name, place) => void places.set(key(name), place),
    recall: (name) => places.get(key(name)),
    newStep: () => {
      steps += 1;
      return { step: `${loaded}-${steps}` };
    },
  };
}

function stepOf(state: unknown): string {
  if (typeof state !== "object" || state === null || !("step" in state)) return "first";
  return String(state.step);
}
