import { storedAtMs } from "../model/log-entries.js";
import type { Invariant } from "./invariant.js";

/** Changes of what is admitted. */
export const rulesHold: Invariant = {
  name: "rules-hold",
  promise:
    "Once the collector has answered that the plan of a source refuses an event, none is stored from it, whichever thread took the request, and whatever was under way.",
  check({ cast, messages }) {
    const { refusing, ends } = cast.history;
    return refusing.flatMap(({ sourceId, fromMs }) => {
      const own = ends.filter((end) => end.sourceId === sourceId && end.atMs > fromMs);
      const untilMs = Math.min(...own.map(({ atMs }) => atMs));
      return messages.flatMap((stored) => {
        const { messageId, message } = stored;
        const { n } = (message as { readonly properties?: { readonly n?: unknown } }).properties ?? {};
        if (stored.sourceId !== sourceId || message.event !== RARE_EVENT || typeof n !== "number") return [];
        const atMs = storedAtMs(cast.history, messageId) ?? 0;
        return atMs > fromMs && atMs < untilMs
          ? [`${messageId} was stored at ${atMs}, and its event was refused from ${fromMs} on`]
          : [];
      });
    });
  },
};

const RARE_EVENT = "Rare";
