import type { Identity } from "@sluice/event-log";
import { type Aspect, withOccurrence } from "../conditions/aspect.js";
import { type Identification, identificationOf, identitiesIn } from "../profiles/identities.js";
import type { IdentityPolicy } from "../profiles/identity-policy.js";
import { isAnonymous, joinedTo, type Profile, takeTraits } from "../profiles/profile.js";
import { admitIdentities } from "../profiles/profile-bounds.js";
import type { Step } from "../profiles/step.js";
import type { EngineState } from "./engine-state.js";
import { discount, keepUp, mergeInto, setDue } from "./keep-up.js";
import type { IsNeeded, LogMessage } from "./read-messages.js";
import { occurrenceOf, timeOf } from "./track-events.js";

/** A message with what it says about whose it is: read once, since most messages are only looked at for that. */
export interface AddressedMessage extends LogMessage {
  readonly identification: Identification;
  readonly sourceId: string;
  readonly policy: IdentityPolicy;
}

/** The messages of a source that are somebody's. */
export function addressed(
  messages: readonly LogMessage[],
  sourceId: string,
  policy: IdentityPolicy,
): AddressedMessage[] {
  const known: AddressedMessage[] = [];
  for (const { message, offset, receivedAtMs } of messages) {
    const identification = message.type === "delete" ? undefined : identificationOf(message, policy);
    if (identification !== undefined)
      known.push({ message, offset, receivedAtMs, identification, sourceId, policy });
  }
  return known;
}

/** Fetches the profiles that messages may change; of the others only who they are. */
export async function fetchFor(
  step: Step,
  messages: readonly AddressedMessage[],
  isNeeded: IsNeeded,
): Promise<void> {
  const named = new Set<string>();
  for (const { identification } of messages)
    for (const identity of identitiesIn(identification)) named.add(identity);
  await step.resolve(named);
  const changed = new Set<number>();
  for (const { message, identification } of messages) {
    if (!isNeeded(message.type, message.event) && seenAs(step, identification) !== undefined) continue;
    for (const identity of identitiesIn(identification)) {
      const number = step.numberOf(identity);
      if (number !== undefined) changed.add(number);
    }
  }
  await step.fetchNumbers(changed);
}

/** Whether what a message may change could be fetched: a step does not take more into memory than it has room for. */
export function isFetched(
  step: Step,
  { message, identification }: AddressedMessage,
  isNeeded: IsNeeded,
): boolean {
  if (!isNeeded(message.type, message.event) && seenAs(step, identification) !== undefined) return true;
  return identitiesIn(identification).every((identity) => {
    const number = step.numberOf(identity);
    return number === undefined || !step.isUnfetched(number);
  });
}

/** The profile of a message that says nothing new about who is who; undefined where it does. */
function seenAs(step: Step, { own, anonymous }: Identification): number | undefined {
  const number = step.numberOf(own);
  return anonymous === undefined || step.numberOf(anonymous) === number ? number : undefined;
}

/** What a message changes: whose it is, who becomes one, traits, events; and what follows from it. */
export function takeMessage(
  step: Step,
  loaded: EngineState,
  stored: AddressedMessage,
  isNeeded: IsNeeded,
): void {
  const { message, identification } = stored;
  const { plan } = loaded;
  const atMs = timeOf(stored);
  if (!isNeeded(message.type, message.event)) {
    const number = seenAs(step, identification);
    if (number !== undefined) {
      step.see(number, atMs);
      return;
    }
  }
  const known = step.find(identification.own);
  const profile = known ?? step.create(identification.own, atMs);
  if (profile.dueMs !== undefined && profile.dueMs <= step.nowMs) settleDue(step, loaded, profile);
  profile.firstSeenMs = Math.min(profile.firstSeenMs, atMs);
  profile.lastSeenMs = Math.max(profile.lastSeenMs, atMs);
  step.touch(profile);

  if (!join(step, loaded, profile, stored)) step.refuseJoin(stored.sourceId);
  const traits = message.type === "identify" ? takeTraits(profile, message.traits, step.leftOut) : [];
  const aspects: number[] = [];
  if (message.type === "track" && typeof message.event === "string") {
    const counted = plan.aspectsByEvent.get(message.event);
    if (counted !== undefined) {
      const occurrence = occurrenceOf(stored);
      for (const { number, aspect } of counted)
        if (takeOccurrence(step, profile, number, aspect, occurrence)) aspects.push(number);
    }
  }
  const audiences = known === undefined ? plan.ofNewProfiles : [];
  keepUp(step, loaded, profile, { aspects, traits, audiences });
  if (aspects.length > 0) setDue(step, plan, profile, false);
}

/** Whether the aspect's state changed. */
export function takeOccurrence(
  step: Step,
  profile: Profile,
  number: number,
  aspect: Aspect,
  occurrence: Parameters<typeof withOccurrence>[2],
): boolean {
  const before = profile.aspects.get(number);
  const after = withOccurrence(aspect, before, occurrence, step.nowMs);
  if (after === before || after === undefined) return false;
  profile.aspects.set(number, after);
  step.touch(profile);
  return true;
}

/** Joins the ids that a message names to its user, as far as its source may. False where an identify or alias asked for more. */
function join(step: Step, loaded: EngineState, profile: Profile, stored: AddressedMessage): boolean {
  const { identification, policy, message } = stored;
  const { own, anonymous, previous } = identification;
  const mayAttach = (identity: Identity): boolean =>
    policy === "none" ? step.find(identity) === profile : attach(step, loaded, profile, identity, own);
  let isJoined = anonymous === undefined || mayAttach(anonymous);
  if (previous !== undefined) {
    if (policy === "full") {
      attach(step, loaded, profile, previous.anonymous, own);
      claim(step, loaded, profile, previous.user);
    } else {
      // Whoever is a user stays one. So does whoever becomes one later: the id is only ever taken as an anonymous one.
      const user = step.find(previous.user);
      isJoined = (user === undefined ? mayAttach(previous.anonymous) : user === profile) && isJoined;
    }
  }
  return isJoined || (message.type !== "identify" && message.type !== "alias");
}

/**
 * An anonymous id belongs to the first user who is identified with it, for good: what it did before becomes theirs. Answers whether
 * it is this user's.
 */
function attach(
  step: Step,
  loaded: EngineState,
  profile: Profile,
  identity: Identity,
  user: Identity,
): boolean {
  const other = step.find(identity);
  if (other === profile) return true;
  if (other !== undefined && !isAnonymous(other)) return false;
  const isTaken =
    other === undefined ? takeIdentity(step, profile, identity) : merge(step, loaded, profile, other);
  if (isTaken && user !== profile.id) profile.joined.set(identity, user);
  return isTaken;
}

/** Alias: a user id becomes another name of this user, with everything that is known under it. */
function claim(step: Step, loaded: EngineState, profile: Profile, identity: Identity): void {
  const other = step.find(identity);
  if (other === undefined) takeIdentity(step, profile, identity);
  else if (other !== profile) {
    const joined = other.identities.map((one) => [one, joinedTo(other, one)] as const);
    if (!merge(step, loaded, profile, other)) return;
    // Whose an anonymous id was is remembered: it goes with that user alone.
    for (const [one, user] of joined) if (one.startsWith("a:")) profile.joined.set(one, user);
  }
}

/** False where the profile has no room for the id. */
function takeIdentity(step: Step, profile: Profile, identity: Identity): boolean {
  step.touch(profile);
  if (!admitIdentities(profile, [identity], step.leftOut)) return false;
  profile.identities.push(identity);
  step.point(identity, profile.number);
  return true;
}

/** False where the profile has no room for the other's ids. */
function merge(step: Step, loaded: EngineState, profile: Profile, gone: Profile): boolean {
  step.touch(profile);
  if (!admitIdentities(profile, gone.identities, step.leftOut)) return false;
  mergeInto(step, loaded, profile, gone);
  setDue(step, loaded.plan, profile, false);
  return true;
}

/** Events have left windows: what depends on them is evaluated. */
export function settleDue(step: Step, loaded: EngineState, profile: Profile): void {
  const { plan } = loaded;
  const windowed = [...profile.aspects.keys()].filter(
    (number) => plan.aspects.get(number)?.withinMs !== undefined,
  );
  keepUp(step, loaded, profile, { aspects: windowed, traits: [] });
  setDue(step, plan, profile, true);
}

export function removeProfile(step: Step, { states }: EngineState, profile: Profile): void {
  discount(step, states, profile);
  for (const identity of profile.identities) step.point(identity, undefined);
  step.withdraw(profile.number);
  step.remove(profile);
}
