import type { Offset } from "@sluice/event-log";

/** A message's place in the order of the log. `done` when its outcome or retry was handed over for storing. */
export interface Place {
  readonly offset: Offset;
  done: boolean;
}

/** Tracks up to where everything is done, while messages are handled concurrently and end in any order. */
export interface CursorTracker {
  /** Every message at or before it is done. */
  readonly cursor: Offset;
  /** Messages that were added and are not done. */
  readonly open: number;
  /** Messages in memory: those that were added since the first that is not done. */
  readonly span: number;
  /** Adds the next message of the log. Offsets ascend. */
  add(offset: Offset): Place;
  done(place: Place): void;
  /** Up to here, nothing is left to do except for what was added. */
  passed(offset: Offset): void;
}

export function cursorTracker(start: Offset): CursorTracker {
  let cursor = start;
  /** Only places from `first` on are live. Those before it are done. */
  let places: Place[] = [];
  let first = 0;
  let open = 0;
  return {
    get cursor() {
      return cursor;
    },
    get open() {
      return open;
    },
    get span() {
      return places.length - first;
    },
    add(offset) {
      open += 1;
      const place = { offset, done: false };
      places.push(place);
      return place;
    },
    done(place) {
      if (!place.done) open -= 1;
      place.done = true;
      for (let next = places[first]; next?.done; next = places[first]) {
        cursor = next.offset;
        first += 1;
      }
      // At least half of it is dead, so copying the rest is amortized.
      if (first > 1_024 && first * 2 > places.length) {
        places = places.slice(first);
        first = 0;
      }
    },
    passed(offset) {
      if (first === places.length && offset > cursor) cursor = offset;
    },
  };
}
