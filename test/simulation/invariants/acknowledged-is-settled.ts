import type { History } from "../actors/history.js";
import { mayGoWith, ownerOf } from "../model/identities.js";
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
    for (const { sourceId, messageIds, atMs } of cast.history.acknowledgements) {
      for (const messageId of messageIds) {
        // A message that is sent again after a deletion is a duplicate.
        if (seen.has(`${sourceId} ${messageId}`)) continue;
        seen.add(`${sourceId} ${messageId}`);
        if (!stored.has(`${sourceId} ${messageId}`) && !mayBeDeleted(cast.history, messageId, atMs))
          wrong.push(`${messageId} was acknowledged at ${atMs} and is not in the log`);
      }
    }
    for (const destination of cast.destinations) {
      const { name } = destination.plan;
      const sources = new Set(destination.plan.sources.map((index) => cast.sources[index]?.id));
      for (const stored of messages) {
        const { offset, messageId, sourceId, message, onlyDestinations } = stored;
        if (!(onlyDestinations?.includes(destination.id) ?? sources.has(sourceId))) continue;
        const delivery = deliveryOf(destination, offset);
        if (delivery === undefined) wrong.push(`${messageId} has no outcome at ${name}`);
        else if (delivery.state === "pending" && !mayStillWait(cast, destination))
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

/** In order, the messages of a user wait for one another: at a dead destination for a window each, which is longer than a run. */
export function mayStillWait({ receivers }: Cast, { plan, urls }: CastDestination): boolean {
  return plan.order === "user" && urls.some((url) => receivers.of(url).isDead);
}

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

/** Whether somebody asked to delete its user after it was received, or meanwhile, and that was done. */
function mayBeDeleted(history: History, messageId: string, acknowledgedMs: number): boolean {
  return history.deletions.some(
    ({ identity }) =>
      mayGoWith(history, messageId, identity) &&
      history.purges.some(({ identities, atMs }) => identities.includes(identity) && atMs >= acknowledgedMs),
  );
}
