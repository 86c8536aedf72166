/** What a call that waits needs of an entry. */
export interface WaitingCall {
  readonly bytes: number;
  /** It has an entry of its own. */
  readonly isAlone: boolean;
}

/** How many calls the next entry takes: from the oldest on, as many as fit into `mostBytes`, and at least one. */
export function nextGroup(waiting: readonly WaitingCall[], mostBytes: number): number {
  let bytes = 0;
  for (const [place, call] of waiting.entries()) {
    bytes += call.bytes;
    if (place > 0 && (bytes > mostBytes || call.isAlone)) return place;
    if (call.isAlone) return 1;
  }
  return waiting.length;
}
