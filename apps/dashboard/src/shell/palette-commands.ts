import { addresses } from "../routing/addresses.js";
import type { IconName } from "../ui/icon.js";
import { NAVIGATION_ITEMS } from "./navigation.js";

export interface PaletteCommand {
  readonly id: string;
  readonly label: string;
  readonly icon: IconName;
  readonly hint?: string;
  readonly does:
    | { readonly kind: "go"; readonly href: string }
    | { readonly kind: "theme" }
    | { readonly kind: "sign-out" };
}

/** A resource with a name and a page. */
export interface NamedThing {
  readonly name: string;
  readonly href: string;
  readonly icon: IconName;
  readonly kind: string;
}

const ACTIONS: readonly (PaletteCommand & { readonly words: string })[] = [
  action("Connect a webhook", "webhook", addresses.connect("webhooks"), "new destination add"),
  action("New audience", "audiences", addresses.newAudience(), "create segment add"),
  action("New transformation", "code", addresses.newTransformation(), "create function code add"),
  action("Failed deliveries", "deliveries", addresses.deliveries({ state: "failed" }), "retry replay errors"),
  {
    id: "theme",
    label: "Toggle light and dark theme",
    icon: "moon",
    words: "theme mode",
    does: { kind: "theme" },
  },
  { id: "sign-out", label: "Sign out", icon: "leave", words: "token log out", does: { kind: "sign-out" } },
];

function action(
  label: string,
  icon: IconName,
  href: string,
  words: string,
): PaletteCommand & { words: string } {
  return { id: `action:${href}`, label, icon, words, does: { kind: "go", href } };
}

/** A command and the words by which it is found besides its label. */
interface Candidate {
  readonly command: PaletteCommand;
  readonly words: string;
}

/** Things with a name that are shown: before anything is typed, and of those that match. */
const SHOWN_AT_FIRST = 6;
const SHOWN_MATCHES = 12;

/**
 * The commands for a text, best match first: the same name, then names that begin with it, then names with a word that begins with
 * it, then names that contain it, then other words. What has the text as its id, `byId`, comes before all. Among equals, pages come before actions, and both before things with a name.
 */
export function commandsFor(
  text: string,
  things: readonly NamedThing[],
  byId: readonly PaletteCommand[] = [],
): readonly PaletteCommand[] {
  const wanted = text.trim().toLowerCase();
  const places = NAVIGATION_ITEMS.map(({ label, icon, href, key, words }): Candidate => {
    const does = { kind: "go", href } as const;
    return { command: { id: `place:${href}`, label, icon, hint: `g ${key}`, does }, words };
  });
  const actions = ACTIONS.map(({ words, ...command }): Candidate => ({ command, words }));
  const named = things.map(({ name, href, icon, kind }): Candidate => {
    const does = { kind: "go", href } as const;
    return { command: { id: href, label: name, icon, hint: kind, does }, words: kind };
  });
  if (wanted === "")
    return [...places, ...actions, ...named.slice(0, SHOWN_AT_FIRST)].map(({ command }) => command);
  const found = [
    ...ranked(wanted, [...places, ...actions]),
    ...ranked(wanted, named).slice(0, SHOWN_MATCHES),
  ];
  return [
    ...byId,
    ...found.sort((a, b) => a.rank - b.rank).map(({ command }) => command),
    ...searchFor(text.trim()),
  ];
}

/** The candidates that match, with their ranks, best first; equals stay in their order. */
function ranked(
  wanted: string,
  candidates: readonly Candidate[],
): { readonly command: PaletteCommand; readonly rank: number }[] {
  return candidates
    .flatMap(({ command, words }) => {
      const rank = matchRank(wanted, command.label, words);
      return rank === undefined ? [] : [{ command, rank }];
    })
    .sort((a, b) => a.rank - b.rank);
}

/** How well a text in lower case matches a name, 0 best; undefined if one of its words is neither in the name nor in `words`. */
export function matchRank(wanted: string, name: string, words: string): number | undefined {
  const lower = name.toLowerCase();
  if (lower === wanted) return 0;
  if (lower.startsWith(wanted)) return 1;
  const parts = wanted.split(/\s+/);
  const ofName = lower.split(/[^\p{L}\p{N}]+/u);
  if (parts.every((part) => ofName.some((word) => word.startsWith(part)))) return 2;
  if (parts.every((part) => lower.includes(part))) return 3;
  const all = `${lower} ${words.toLowerCase()}`;
  return parts.every((part) => all.includes(part)) ? 4 : undefined;
}

/** Searches messages for the text. */
function searchFor(text: string): PaletteCommand[] {
  if (text === "") return [];
  const does = { kind: "go", href: addresses.live(text) } as const;
  return [{ id: "search", label: `Search messages for ${text}`, icon: "search", does }];
}
