import { addresses } from "../routing/addresses.js";
import type { IconName } from "../ui/icon.js";
import { NAVIGATION_ITEMS } from "./navigation-items.js";

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

/** The commands for a text, best match first. */
export function commandsFor(text: string, things: readonly NamedThing[]): readonly PaletteCommand[] {
  const wanted = text.trim().toLowerCase();
  const places = NAVIGATION_ITEMS.filter((place) => matches(wanted, `${place.label} ${place.words}`)).map(
    (place): PaletteCommand => ({
      id: `place:${place.href}`,
      label: place.label,
      icon: place.icon,
      hint: `g ${place.key}`,
      does: { kind: "go", href: place.href },
    }),
  );
  const named = (
    wanted === "" ? things.slice(0, 6) : things.filter((thing) => matches(wanted, thing.name)).slice(0, 12)
  ).map(
    (thing): PaletteCommand => ({
      id: thing.href,
      label: thing.name,
      icon: thing.icon,
      hint: thing.kind,
      does: { kind: "go", href: thing.href },
    }),
  );
  const actions = ACTIONS.filter((one) => matches(wanted, `${one.label} ${one.words}`));
  return [...places, ...actions, ...named, ...searches(text.trim())];
}

/** Searches for the text: as a filter, and one word also as a message id or user id. */
function searches(text: string): PaletteCommand[] {
  if (text === "") return [];
  const isOneWord = !/[\s:"]/.test(text);
  const all: PaletteCommand[] = [
    {
      id: "search",
      label: `Search messages for ${text}`,
      icon: "search",
      does: { kind: "go", href: addresses.live(text) },
    },
  ];
  if (isOneWord) {
    all.push(
      {
        id: "message",
        label: `Open message ${text}`,
        icon: "file",
        does: { kind: "go", href: addresses.message(text) },
      },
      {
        id: "profile",
        label: `Open profile of user ${text}`,
        icon: "profile",
        does: { kind: "go", href: addresses.profile(text) },
      },
    );
  }
  return all;
}

/** Whether every word of `wanted` is in `text`. */
function matches(wanted: string, text: string): boolean {
  const lower = text.toLowerCase();
  return wanted.split(/\s+/).every((word) => lower.includes(word));
}
