import type { ProfileSummaryView } from "@sluice/control-api";
import { formatTime } from "@sluice/protocol";
import { type Profile, userFields } from "../../profiles/profile.js";

/** A search text in lower case, and the same as `trait:value` if it has that form. */
export interface ProfileSearch {
  readonly text: string;
  readonly trait?: { readonly name: string; readonly value: string };
}

/** Undefined for a text that every profile matches. */
export function profileSearch(text: string): ProfileSearch | undefined {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return undefined;
  const colon = wanted.indexOf(":");
  const name = wanted.slice(0, colon).trim();
  const value = wanted.slice(colon + 1).trim();
  return colon < 1 || name === "" || value === ""
    ? { text: wanted }
    : { text: wanted, trait: { name, value } };
}

/** The profile in a list if it matches, otherwise nothing. Without a search every profile matches. */
export function foundIn(profile: Profile, search: ProfileSearch | undefined): ProfileSummaryView[] {
  if (search === undefined) return [profileSummary(profile, undefined)];
  const match = matchProfile(profile, search);
  return match === undefined ? [] : [profileSummary(profile, match)];
}

/** Where a profile matches: `userId`, `anonymousId` or the name of a trait. */
export interface ProfileMatch {
  readonly field: string;
  readonly value: string;
}

/**
 * Finds where an id or a trait of a profile contains the text, ignoring case: `ada@`, `pro`; or where one trait contains a value:
 * `plan:pro`. Nested values are searched as JSON. Undefined if nothing matches.
 */
export function matchProfile(
  { identities, traits }: Pick<Profile, "identities" | "traits">,
  { text, trait }: ProfileSearch,
): ProfileMatch | undefined {
  for (const identity of identities) {
    const id = identity.slice(2);
    if (id.toLowerCase().includes(text))
      return { field: identity.startsWith("a:") ? "anonymousId" : "userId", value: id };
  }
  for (const [name, value] of traits) {
    const shown = traitText(value);
    const found = shown.toLowerCase();
    if (found.includes(text)) return { field: name, value: shown };
    if (trait !== undefined && name.toLowerCase() === trait.name && found.includes(trait.value))
      return { field: name, value: shown };
  }
  return undefined;
}

function traitText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** Traits of a profile in a list, and the characters of each. The profile itself has all of them. */
const SHOWN_TRAITS = 8;
const SHOWN_LENGTH = 100;
/** The traits by which people are recognized come first. */
const FIRST_TRAITS = ["email", "name", "firstName", "lastName", "company", "plan"];

/** A profile in a list: small, however large its traits are. */
export function profileSummary(profile: Profile, match: ProfileMatch | undefined): ProfileSummaryView {
  const named = FIRST_TRAITS.filter((name) => profile.traits.has(name));
  const names = [...named, ...[...profile.traits.keys()].filter((name) => !named.includes(name))];
  const shown = names.slice(0, SHOWN_TRAITS);
  return {
    ...userFields(profile),
    traits: Object.fromEntries(shown.map((name) => [name, clip(traitText(profile.traits.get(name)))])),
    traitCount: profile.traits.size,
    audienceCount: [...profile.memberships.values()].filter(({ isIn }) => isIn).length,
    ...(match === undefined ? {} : { match: { field: match.field, value: clip(match.value) } }),
    firstSeenAt: formatTime(profile.firstSeenMs),
    lastSeenAt: formatTime(profile.lastSeenMs),
  };
}

/** How people call the user, where a trait says it. */
export function knownName({ traits }: Pick<Profile, "traits">): { readonly name?: string } {
  const name = [traits.get("name"), traits.get("email")].find((one) => typeof one === "string" && one !== "");
  return typeof name === "string" ? { name: clip(name) } : {};
}

function clip(text: string): string {
  if (text.length <= SHOWN_LENGTH) return text;
  const characters = Array.from(text.slice(0, 2 * SHOWN_LENGTH));
  return `${characters.slice(0, SHOWN_LENGTH - 1).join("")}…`;
}
