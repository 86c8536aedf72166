import { NAVIGATION_ITEMS } from "./navigation-items.js";

/** What a key asks for. */
export type ShortcutAction =
  | { readonly kind: "go"; readonly href: string }
  | { readonly kind: "palette" }
  | { readonly kind: "help" }
  | { readonly kind: "theme" };

export interface KeyPress {
  readonly key: string;
  readonly ctrlOrMeta: boolean;
  readonly alt: boolean;
  /** Somebody is writing in a field: only chords with Ctrl or Cmd count. */
  readonly isTyping: boolean;
}

/** `g` was pressed and the next key says where to; or nothing was. */
export type ShortcutState = "none" | "going";

export function onKey(
  state: ShortcutState,
  press: KeyPress,
): { readonly state: ShortcutState; readonly action?: ShortcutAction } {
  if (press.ctrlOrMeta) {
    return press.key.toLowerCase() === "k" && !press.alt
      ? { state: "none", action: { kind: "palette" } }
      : { state: "none" };
  }
  if (press.isTyping || press.alt) return { state: "none" };
  if (state === "going") {
    const place = NAVIGATION_ITEMS.find((one) => one.key === press.key);
    return place === undefined
      ? { state: "none" }
      : { state: "none", action: { kind: "go", href: place.href } };
  }
  switch (press.key) {
    case "g":
      return { state: "going" };
    case "?":
      return { state: "none", action: { kind: "help" } };
    case "T":
      return { state: "none", action: { kind: "theme" } };
    default:
      return { state: "none" };
  }
}
