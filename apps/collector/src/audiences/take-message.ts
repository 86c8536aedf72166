import { type Aspect, withOccurrence } from "./aspect.js";
import type { EngineState } from "./engine-state.js";
import { type Identification, identificationOf, identitiesIn } from "./identities.js";
import { discount, keepUp, mergeInto, setDue } from "./keep-up.js";
import { isAnonymous, type Profile, takeTraits } from "./profile.js";
import { admitIdentities } from "./profile-bounds.js";
import type { IsNeeded, LogMessage } from "./read-messages.js";
import type { Step } from "./step.js";
import { occurrenceOf, timeOf } from "./track-events.js";

/** A message with what it says about whose it is: read once, since most messages are only looked at for that. */
export interface AddressedMessage extends LogMessage {
  readonly identification: Identification;
}

/** The messages that are somebody's. */
export function addressed(messages: readonly LogMessage[]): AddressedMessage[] {
  const known: AddressedMessage[] = [];
  for (const { message, offset, receivedAtMs } of messages) {
    const identification = message.type === "delete" ? undefined : identificationOf(message);
    if (identification !== undefined) known.push({ message, offset, receivedAtMs, identification });
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

  if (identification.anonymous !== undefined) attach(step, loaded, profile, identification.anonymous);
  if (identification.previous !== undefined) {
    attach(step, loaded, profile, identification.previous.anonymous);
    claim(step, loaded, profile, identification.previous.user);
  }
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

/** An anonymous id belongs to the first user who is identified with it, for good: what it did before becomes theirs. */
function attach(step: Step, loaded: EngineState, profile: Profile, identity: string): void {
  const other = step.find(identity);
  if (other === undefined) takeIdentity(step, profile, identity);
  else if (other !== profile && isAnonymous(other)) merge(step, loaded, profile, other);
}

/** Alias: a user id becomes another name of this user, with everything that is known under it. */
function claim(step: Step, loaded: EngineState, profile: Profile, identity: string): void {
  const other = step.find(identity);
  if (other === undefined) takeIdentity(step, profile, identity);
  else if (other !== profile) merge(step, loaded, profile, other);
}

function takeIdentity(step: Step, profile: Profile, identity: string): void {
  step.touch(profile);
  if (!admitIdentities(profile, [identity], step.leftOut)) return;
  profile.identities.push(identity);
  step.point(identity, profile.number);
}

function merge(step: Step, loaded: EngineState, profile: Profile, gone: Profile): void {
  step.touch(profile);
  if (!admitIdentities(profile, gone.identities, step.leftOut)) return;
  mergeInto(step, loaded, profile, gone);
  setDue(step, loaded.plan, profile, false);
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
