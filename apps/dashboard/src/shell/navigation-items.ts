import { addresses } from "../routing/addresses.js";
import type { IconName } from "../ui/icon.js";

export interface NavigationItem {
  readonly label: string;
  readonly href: string;
  readonly icon: IconName;
  /** The key that goes there after `g`. */
  readonly key: string;
  /** Other words that the palette finds it by. */
  readonly words: string;
}

export interface NavigationGroup {
  readonly label: string;
  readonly places: readonly NavigationItem[];
}

/** The pages of the navigation, in its order. */
export const NAVIGATION: readonly NavigationGroup[] = [
  {
    label: "Watch",
    places: [
      {
        label: "Overview",
        href: addresses.overview(),
        icon: "overview",
        key: "o",
        words: "home rates latency",
      },
      {
        label: "Live messages",
        href: addresses.live(),
        icon: "live",
        key: "l",
        words: "debugger events search",
      },
      {
        label: "Deliveries",
        href: addresses.deliveries(),
        icon: "deliveries",
        key: "d",
        words: "failed retry replay",
      },
    ],
  },
  {
    label: "Connect",
    places: [
      {
        label: "Sources",
        href: addresses.sources(),
        icon: "sources",
        key: "s",
        words: "write key snippet sdk",
      },
      {
        label: "Destinations",
        href: addresses.destinations(),
        icon: "destinations",
        key: "t",
        words: "webhook catalog",
      },
    ],
  },
  {
    label: "People",
    places: [
      {
        label: "Audiences",
        href: addresses.audiences(),
        icon: "audiences",
        key: "a",
        words: "segments members",
      },
      {
        label: "Computed traits",
        href: addresses.computedTraits(),
        icon: "traits",
        key: "c",
        words: "count sum average",
      },
      {
        label: "Profiles",
        href: addresses.profiles(),
        icon: "profile",
        key: "p",
        words: "user traits identity",
      },
      {
        label: "Deletions",
        href: addresses.deletions(),
        icon: "deletions",
        key: "x",
        words: "gdpr erase receipt",
      },
    ],
  },
  {
    label: "",
    places: [
      {
        label: "Settings",
        href: addresses.settings(),
        icon: "settings",
        key: ",",
        words: "tokens audit theme",
      },
    ],
  },
];

export const NAVIGATION_ITEMS: readonly NavigationItem[] = NAVIGATION.flatMap((group) => group.places);

/** Whether a page belongs to a place of the navigation. */
export function isWithin(place: NavigationItem, path: string): boolean {
  if (place.href === "/") return path === "/";
  if (place.href === addresses.live() && path.startsWith("/messages/")) return true;
  if (place.href === addresses.destinations() && path.startsWith("/catalog")) return true;
  return path === place.href || path.startsWith(`${place.href}/`);
}
