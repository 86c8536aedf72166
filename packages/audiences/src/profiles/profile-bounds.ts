import { PROFILE_LIMITS } from "@sluice/event-log";
import type { Profile } from "./profile.js";

/** How many values did not get into a profile because it is full; each time one came. */
export interface LeftOutOfProfile {
  traits: number;
  ids: number;
}

/** Whether a trait may have this value; where it may not, that is counted, in the profile and in `step`. */
export function admitTrait(profile: Profile, name: string, value: unknown, step: LeftOutOfProfile): boolean {
  const known = profile.traits.get(name);
  const before = contentBytes(profile);
  const after = before - traitBytes(name, known) + traitBytes(name, value);
  const isOneTooMany = known === undefined && profile.traits.size >= PROFILE_LIMITS.traits;
  // What an older version let grow further may still shrink.
  if (isOneTooMany || (after > PROFILE_LIMITS.bytes && after > before)) {
    profile.leftOut.traits += 1;
    step.traits += 1;
    return false;
  }
  profile.contentBytes = after;
  return true;
}

/** A trait goes. */
export function releaseTrait(profile: Profile, name: string): void {
  profile.contentBytes = contentBytes(profile) - traitBytes(name, profile.traits.get(name));
}

/** Whether a profile may answer to more ids; where it may not, that is counted, and none of them is to be taken. */
export function admitIdentities(
  profile: Profile,
  identities: readonly string[],
  step: LeftOutOfProfile,
): boolean {
  const bytes = identities.reduce((sum, identity) => sum + jsonBytes(identity), contentBytes(profile));
  const count = profile.identities.length + identities.length;
  if (count > PROFILE_LIMITS.ids || bytes > PROFILE_LIMITS.bytes) {
    profile.leftOut.ids += identities.length;
    step.ids += identities.length;
    return false;
  }
  profile.contentBytes = bytes;
  return true;
}

/** The bytes of a profile's ids and traits, as `PROFILE_LIMITS` counts them: added up once, then kept. */
function contentBytes(profile: Profile): number {
  if (profile.contentBytes !== undefined) return profile.contentBytes;
  let bytes = 0;
  for (const identity of profile.identities) bytes += jsonBytes(identity);
  for (const [name, value] of profile.traits) bytes += traitBytes(name, value);
  return bytes;
}

function traitBytes(name: string, value: unknown): number {
  return value === undefined ? 0 : jsonBytes(name) + jsonBytes(value);
}

/** With the comma or colon after it. */
function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value)) + 1;
}
