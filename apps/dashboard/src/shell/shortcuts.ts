import { NAVIGATION_ITEMS } from "./navigation-items.js";

/** What a shortcut does. */
export type ShortcutAction =
  | { readonly kind: "go"; readonly href: string }
  | { readonly kind: "palette" }
  | { readonly kind: "help" }
  | { readonly kind: "theme" };

export interface KeyPress {
  readonly key: string;
  readonly ctrlOrMeta: boolean;
  readonly alt: boolean;
  /** The focus is in a field: only shortcuts with Ctrl or Cmd apply. */
  readonly isTyping: boolean;
}

/** `going`: `g` was pressed, and the next key selects the page. */
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
    const item = NAVIGATION_ITEMS.find((one) => one.key === press.key);
    return item === undefined
      ? { state: "none" }
      : { state: "none", action: { kind: "go", href: item.href } };
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
