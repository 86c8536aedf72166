import { anonymousIdentity, type Identity, userIdentity } from "../message/identity.js";
import type { MessageQuery } from "../ports/event-log.js";
import type { PurgeQuery } from "../ports/purging.js";

/** The ids that a purge removes; none if it removes a single message. */
export function purgedIdentities(query: PurgeQuery): readonly Identity[] {
  if ("identities" in query) return query.identities;
  if ("userId" in query) return [userIdentity(query.userId)];
  return "anonymousId" in query ? [anonymousIdentity(query.anonymousId)] : [];
}

/** The ids to search for in the text of refused messages. */
export function requestedIdentities(query: PurgeQuery): readonly Identity[] {
  return ("identities" in query ? query.requested : undefined) ?? purgedIdentities(query);
}

/** The messages that a purge removes, as queries for `find`. */
export function purgedMessages(query: PurgeQuery): readonly MessageQuery[] {
  return "messageId" in query ? [query] : purgedIdentities(query).map((identity) => ({ identity }));
}
