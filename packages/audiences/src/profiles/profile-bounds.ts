import { PROFILE_LIMITS } from "@sluice/event-log";
import { isPlainObject } from "@sluice/protocol";
import type { LeftOutOfProfile, Profile } from "./profile.js";

/** Scans of profiles read parts of about this many bytes. In memory they may take up to 20 times as much. */
export const SCANNED_BYTES = 2 * 1_024 * 1_024;

/**
 * Applies the traits of an identify message; null removes a trait. Traits for which the profile has no room are left out and counted in
 * `leftOut`. Returns the names of the traits that changed.
 */
export function takeTraits(profile: Profile, traits: unknown, leftOut: LeftOutOfProfile): string[] {
  const changed: string[] = [];
  if (!isPlainObject(traits)) return changed;
  for (const name of Object.keys(traits)) {
    const value = traits[name];
    const known = profile.traits.get(name);
    if (value === null || value === undefined) {
      if (known === undefined) continue;
      releaseTrait(profile, name);
      profile.traits.delete(name);
      changed.push(name);
    } else if (
      known !== value &&
      !(typeof value === "object" && JSON.stringify(known) === JSON.stringify(value)) &&
      admitTrait(profile, name, value, leftOut)
    ) {
      profile.traits.set(name, value);
      changed.push(name);
    }
  }
  return changed;
}

/** Returns whether the profile has room for a trait's value. If not, that is counted in the profile and in `leftOut`. */
export function admitTrait(
  profile: Profile,
  name: string,
  value: unknown,
  leftOut: LeftOutOfProfile,
): boolean {
  const known = profile.traits.get(name);
  const after = contentBytes(profile) - traitBytes(name, known) + traitBytes(name, value);
  const isOneTooMany = known === undefined && profile.traits.size >= PROFILE_LIMITS.traits;
  if (isOneTooMany || after > PROFILE_LIMITS.bytes) {
    profile.leftOut.traits += 1;
    leftOut.traits += 1;
    return false;
  }
  profile.contentBytes = after;
  return true;
}

/** A trait is removed. */
function releaseTrait(profile: Profile, name: string): void {
  profile.contentBytes = contentBytes(profile) - traitBytes(name, profile.traits.get(name));
}

/** Returns whether the profile has room for more ids. If not, that is counted, and the caller must add none of them. */
export function admitIdentities(
  profile: Profile,
  identities: readonly string[],
  leftOut: LeftOutOfProfile,
): boolean {
  const bytes = identities.reduce((sum, identity) => sum + jsonBytes(identity), contentBytes(profile));
  const count = profile.identities.length + identities.length;
  if (count > PROFILE_LIMITS.ids || bytes > PROFILE_LIMITS.bytes) {
    profile.leftOut.ids += identities.length;
    leftOut.ids += identities.length;
    return false;
  }
  profile.contentBytes = bytes;
  return true;
}

/** The bytes of a profile's ids and traits, as `PROFILE_LIMITS` counts them. Computed once, then kept up to date. */
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
