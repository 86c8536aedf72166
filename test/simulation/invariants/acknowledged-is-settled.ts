import type { History } from "../actors/history.js";
import { mayGoWith, ownerOf } from "../model/identities.js";
import { storedAtMs } from "../model/log-entries.js";
import type { Cast, CastDestination } from "../scenario/cast.js";
import { RARE_EVENT } from "../scenario/steps/source.js";
import type { Invariant } from "./invariant.js";

/** The main promise: nothing that was acknowledged is lost. */
export const acknowledgedIsSettled: Invariant = {
  name: "acknowledged-is-settled",
  promise:
    "A message that was answered with 200 is in the log until it is too old, and at each of its destinations it was delivered, listed as failed, or left out by a rule.",
  check({ cast, messages, dropped, deliveryOf, postsOf }) {
    const wrong: string[] = [];
    const stored = new Map(
      [...messages, ...dropped].map((message) => [`${message.sourceId} ${message.messageId}`, message]),
    );
    const seen = new Set<string>();
    for (const { sourceId, messageIds, atMs } of cast.history.acknowledgements)
      for (const messageId of messageIds) {
        // A message that is sent again after a deletion is a duplicate.
        if (seen.has(`${sourceId} ${messageId}`)) continue;
        seen.add(`${sourceId} ${messageId}`);
        if (!stored.has(`${sourceId} ${messageId}`) && !mayBeDeleted(cast.history, messageId))
          wrong.push(`${messageId} was acknowledged at ${atMs} and is not in the log`);
      }
    for (const destination of cast.destinations) {
      const { name } = destination.plan;
      const sources = new Set(destination.plan.sources.map((index) => cast.sources[index]?.id));
      for (const stored of messages) {
        const { offset, messageId, sourceId, message, onlyDestinations } = stored;
        if (!(onlyDestinations?.includes(destination.id) ?? sources.has(sourceId))) continue;
        const delivery = deliveryOf(destination, offset);
        if (delivery === undefined) wrong.push(`${messageId} has no outcome at ${name}`);
        else if (delivery.state === "pending")
          wrong.push(`${messageId} still waits at ${name}: ${delivery.reason}`);
        else if (delivery.state === "skipped" && !destination.wasDisabled)
          wrong.push(`${messageId} was skipped by ${name}, which was never disabled`);
        else if (delivery.state === "filtered" && !mayBeFiltered(cast, destination, stored))
          wrong.push(`${messageId} was filtered by ${name}, which has no such filter`);
        else if (delivery.state === "suppressed" && !mayBeSuppressed(cast.history, message))
          wrong.push(`${messageId} was suppressed at ${name}, and nobody asked for that`);
        else if (
          delivery.state === "delivered" &&
          !postsOf(destination, messageId).some(({ accepted }) => accepted === true)
        )
          wrong.push(`${messageId} counts as delivered to ${name}, which never took it`);
      }
    }
    return wrong;
  },
};

function mayBeFiltered(
  { history }: Cast,
  { droppedOdd, transformation }: CastDestination,
  { sourceId, message }: { readonly sourceId: string; readonly message: object },
): boolean {
  const { event, properties } = message as {
    readonly event?: unknown;
    readonly properties?: { readonly odd?: unknown };
  };
  const mayDropOdd = droppedOdd || transformation?.saved.has("drops odd") === true;
  return (mayDropOdd && properties?.odd === true) || (history.blocking.has(sourceId) && event === RARE_EVENT);
}

function mayBeSuppressed({ suppressed, fields }: History, message: object): boolean {
  const { messageId } = message as { readonly messageId?: unknown };
  return [...suppressed].some(
    (identity) =>
      identity === ownerOf(message) || mayGoWith({ fields } as History, String(messageId), identity),
  );
}

/** Whether somebody asked to delete its user, and that was done after it was stored. What never was in the log was lost, not deleted. */
function mayBeDeleted(history: History, messageId: string): boolean {
  const storedMs = storedAtMs(history, messageId) ?? Number.POSITIVE_INFINITY;
  return history.deletions.some(
    ({ identity }) =>
      mayGoWith(history, messageId, identity) &&
      history.purges.some(({ identities, atMs }) => identities.includes(identity) && atMs >= storedMs),
  );
}
