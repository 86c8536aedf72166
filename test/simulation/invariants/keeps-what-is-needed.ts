import { everyDestination } from "../scenario/cast.js";
import type { Invariant } from "./invariant.js";

/** Retention. */
export const keepsWhatIsNeeded: Invariant = {
  name: "keeps-what-is-needed",
  promise:
    "Retention drops only the oldest messages, and none that has not ended at one of its destinations. A dropped message that is sent again within the dedupe window is still a duplicate.",
  check({ cast, messages, dropped }) {
    const wrong: string[] = [];
    const oldest = messages[0]?.offset ?? Number.POSITIVE_INFINITY;
    for (const { offset, messageId, sourceId, onlyDestinations } of dropped) {
      if (offset > oldest) wrong.push(`${messageId} is not in the log, and older messages are`);
      for (const { id, name, sources: indexes } of everyDestination(cast)) {
        const sources = new Set(indexes.map((index) => cast.sources[index]?.id));
        if (!(onlyDestinations?.includes(id) ?? sources.has(sourceId))) continue;
        const ends = cast.history.stored.outcomesOf(id, offset).length;
        if (ends < 1 + cast.history.stored.replaysOf(id, offset).length)
          wrong.push(`${messageId} was dropped before it had ended at ${name}`);
      }
    }
    const ids = new Set(messages.map(({ sourceId, messageId }) => `${sourceId} ${messageId}`));
    for (const { sourceId, messageId } of dropped)
      if (ids.has(`${sourceId} ${messageId}`)) wrong.push(`${messageId} was dropped, and stored again`);
    return wrong;
  },
};
