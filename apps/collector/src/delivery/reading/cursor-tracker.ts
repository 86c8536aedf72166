import type { Offset } from "@sluice/event-log";

/** A message's place in the order of the log; `done` once its outcome or retry is handed over for storing. */
export interface Place {
  readonly offset: Offset;
  done: boolean;
}

/** Knows up to where everything is done, while messages are handled at the same time and end in any order. */
export interface CursorTracker {
  /** Every message at or before it is done. */
  readonly cursor: Offset;
  /** How many were added and are not done. */
  readonly open: number;
  /** The next message of the log; offsets ascend. */
  add(offset: Offset): Place;
  done(place: Place): void;
  /** Up to here there is nothing to do but what was added. */
  passed(offset: Offset): void;
}

export function cursorTracker(start: Offset): CursorTracker {
  let cursor = start;
  /** Only places from `first` on are live; those before it are done. */
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
      // Half of it is dead: copying the rest costs no more than what was done since the last time.
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
