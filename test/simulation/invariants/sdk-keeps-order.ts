import type { Invariant } from "./invariant.js";

/** The order of calls. */
export const sdkKeepsOrder: Invariant = {
  name: "sdk-keeps-order",
  promise:
    "An SDK with one request in flight sends messages for the first time in the order of their calls, also through its spool.",
  check({ cast }) {
    const { sends, calls, powerCuts } = cast.history;
    const places = new Map(calls.map(({ messageId }, place) => [messageId, place]));
    const wrong: string[] = [];
    for (const { plan } of cast.sdks) {
      if (plan.maxInFlight > 1 || powerCuts.some(({ sdk }) => sdk === plan.name)) continue;
      const sent = new Set<string>();
      let last = { place: -1, messageId: "", run: 0 };
      for (const { sdk, run, messageId } of sends) {
        if (sdk !== plan.name || sent.has(messageId)) continue;
        sent.add(messageId);
        const place = places.get(messageId) ?? -1;
        if (place < last.place && run === last.run)
          wrong.push(`${messageId} was sent after ${last.messageId}, which was called later`);
        if (place > last.place || run !== last.run) last = { place, messageId, run };
      }
    }
    return wrong;
  },
};
