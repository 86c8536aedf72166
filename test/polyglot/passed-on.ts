import { differences } from "./calls.ts";
import type { Client } from "./clients.ts";
import type { Exchange, Sent } from "./front.ts";
import type { Received } from "./world.ts";

/** Says of the messages that the collector took what did not arrive, and which fields arrived with another value than the client sent. */
export function changesOnTheWay(
  { vendor }: Client,
  exchanges: readonly Exchange[],
  arrived: readonly Received[],
): string[] {
  const byId = new Map(arrived.map((message) => [message.messageId, message]));
  const byContent = new Map(arrived.map((message) => [contentOf(message), message]));
  // The collector refuses none of those whose size it accepts.
  const taken = exchanges.filter(({ accepted, sent }) => accepted === sent.length);
  return taken.flatMap((exchange) =>
    exchange.sent.flatMap((message) => {
      const isEvent = vendor === "PostHog";
      // Events of PostHog's own without an id are compared call by call.
      if (isEvent && !message.uuid && isOwn(message)) return [];
      const expected = isEvent ? translated(message) : asItIs(message);
      const found = byId.get(expected.messageId) ?? byContent.get(contentOf(expected));
      const name = String(message.event ?? message.type);
      if (found === undefined) return [name];
      const { timestamp, ...fields } = expected;
      return [
        ...(isSameTime(exchange, timestamp, found.timestamp) ? [] : [`${name}.timestamp`]),
        ...Object.entries(fields).flatMap(([field, value]) =>
          differences(`${name}.${field}`, value, found[field]),
        ),
      ];
    }),
  );
}

/** The messages with the times that the client gave them, where the collector moved them only because they came late. */
export function withTimesAsGiven(
  exchanges: readonly Exchange[],
  arrived: readonly Received[],
): readonly Received[] {
  const all = exchanges.flatMap((exchange) => exchange.sent.map((message) => ({ exchange, message })));
  return arrived.map((found) => {
    const { exchange, message } =
      all.find(({ message }) => (message.messageId ?? message.uuid) === found.messageId) ?? {};
    const given = message?.timestamp ?? message?.originalTimestamp;
    return exchange && isSameTime(exchange, given, found.timestamp) ? { ...found, timestamp: given } : found;
  });
}

/** What tells messages without an id apart: each trial sends one of each type, or numbers them. */
const contentOf = ({ type, event, properties }: Received): string =>
  JSON.stringify([type, event, (properties as { n?: unknown } | undefined)?.n]);

/** What comes long after its `sentAt` is later by as much, because the collector takes that for a wrong clock. */
function isSameTime({ atMs, answeredAtMs, sentAt = "" }: Exchange, given: unknown, found: unknown): boolean {
  const laterMs = Date.parse(String(found)) - Date.parse(String(given));
  const sentAtMs = Date.parse(sentAt);
  return laterMs === 0 || (laterMs >= atMs - sentAtMs && laterMs <= answeredAtMs - sentAtMs);
}

/** All fields of Segment's and RudderStack's messages. The collector leaves out those that are null. */
function asItIs(message: Sent): Received {
  const { timestamp, ...rest } = Object.fromEntries(
    Object.entries(message).filter(([, value]) => value !== null),
  );
  const fields = { ...rest, timestamp: timestamp ?? rest.originalTimestamp };
  if (message.type !== "alias") return fields;
  const { previousId, userId, ...others } = fields as Sent;
  return { ...others, "Previous ID": previousId, "User ID": userId };
}

const isOwn = ({ event }: Sent): boolean => String(event).startsWith("$");

/** What PostHog's events and messages have in common. */
function translated({ uuid, event, timestamp, properties, ...rest }: Sent): Received {
  const fields = { ...(uuid ? { messageId: uuid } : {}), timestamp };
  if (isOwn({ event })) return fields;
  const own = Object.entries((properties ?? {}) as Sent).filter(([name]) => !/^\$|^distinct_id$/.test(name));
  return { ...fields, type: "track", event, userId: rest.distinct_id, properties: Object.fromEntries(own) };
}
