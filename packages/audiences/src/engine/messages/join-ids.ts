import type { Identity } from "@sluice/event-log";
import { isAnonymous, joinedTo, type Profile } from "../../profiles/profile.js";
import { admitIdentities } from "../../profiles/profile-bounds.js";
import type { UnitOfWork } from "../../profiles/unit-of-work.js";
import { setDue } from "../evaluation/due-time.js";
import { mergeInto } from "../evaluation/merge-profiles.js";
import type { EngineState } from "../state/engine-state.js";
import type { AddressedMessage } from "./read-messages.js";

/** Joins the ids that a message names to its user, as far as its source may. Returns false if an identify or alias asked for more. */
export function joinIds(
  unit: UnitOfWork,
  loaded: EngineState,
  profile: Profile,
  stored: AddressedMessage,
): boolean {
  const { identification, policy, message } = stored;
  const { own, anonymous, previous } = identification;
  const mayAttach = (identity: Identity): boolean =>
    policy === "none" ? unit.find(identity) === profile : attach(unit, loaded, profile, identity, own);
  let isJoined = anonymous === undefined || mayAttach(anonymous);
  if (previous !== undefined) {
    if (policy === "full") {
      attach(unit, loaded, profile, previous.anonymous, own);
      isJoined = claim(unit, loaded, profile, previous.user) && isJoined;
    } else {
      // The source may not join users. An id that is no user's yet is taken as an anonymous one, even if it becomes a user id later.
      const user = unit.find(previous.user);
      isJoined = (user === undefined ? mayAttach(previous.anonymous) : user === profile) && isJoined;
    }
  }
  return isJoined || (message.type !== "identify" && message.type !== "alias");
}

/**
 * An anonymous id belongs for good to the first user who is identified with it; that user gets everything it did before. Returns
 * whether it is this user's.
 */
function attach(
  unit: UnitOfWork,
  loaded: EngineState,
  profile: Profile,
  identity: Identity,
  user: Identity,
): boolean {
  const other = unit.find(identity);
  if (other === profile) return true;
  if (other !== undefined && !isAnonymous(other)) return false;
  const isTaken =
    other === undefined ? takeIdentity(unit, profile, identity) : merge(unit, loaded, profile, other);
  if (isTaken && user !== profile.id) profile.joined.set(identity, user);
  return isTaken;
}

/** Alias: a user id becomes another id of this user, with everything known under it. Returns whether it is this user's. */
function claim(unit: UnitOfWork, loaded: EngineState, profile: Profile, identity: Identity): boolean {
  const other = unit.find(identity);
  if (other === profile) return true;
  if (other === undefined) return takeIdentity(unit, profile, identity);
  const joined = other.identities.map((one) => [one, joinedTo(other, one)] as const);
  if (!merge(unit, loaded, profile, other)) return false;
  // Each anonymous id stays joined to its own user id: a deletion of that id includes it.
  for (const [one, user] of joined) if (one.startsWith("a:")) profile.joined.set(one, user);
  return true;
}

/** False if the profile has no room for the id. */
function takeIdentity(unit: UnitOfWork, profile: Profile, identity: Identity): boolean {
  unit.touch(profile);
  if (!admitIdentities(profile, [identity], unit.leftOut)) return false;
  profile.identities.push(identity);
  unit.point(identity, profile.number);
  return true;
}

/** False if the profile has no room for the other's ids. */
function merge(unit: UnitOfWork, loaded: EngineState, profile: Profile, gone: Profile): boolean {
  unit.touch(profile);
  if (!admitIdentities(profile, gone.identities, unit.leftOut)) return false;
  mergeInto(unit, loaded, profile, gone);
  setDue(unit, loaded.definitions, profile, false);
  return true;
}
