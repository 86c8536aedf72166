import { useEffect, useRef } from "react";
import { NAVIGATION_ITEMS } from "./navigation.js";

/** What a shortcut does. */
export type ShortcutAction =
  | { readonly kind: "go"; readonly href: string }
  | { readonly kind: "palette" }
  | { readonly kind: "help" }
  | { readonly kind: "theme" };

interface KeyPress {
  readonly key: string;
  readonly ctrlOrMeta: boolean;
  readonly alt: boolean;
  /** The focus is in a field: only shortcuts with Ctrl or Cmd apply. */
  readonly isTyping: boolean;
}

/** `going`: `g` was pressed, and the next key selects the page. */
type ShortcutState = "none" | "going";

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

/** The second key must follow `g` within this time. */
const CHORD_MS = 1_200;

export function useShortcuts(act: (action: ShortcutAction) => void): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    let state: ShortcutState = "none";
    let timer: ReturnType<typeof setTimeout> | undefined;
    const listen = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing) return;
      const result = onKey(state, {
        key: event.key,
        ctrlOrMeta: event.ctrlKey || event.metaKey,
        alt: event.altKey,
        isTyping: isField(event.target) || isInDialog(event.target),
      });
      clearTimeout(timer);
      state = result.state;
      if (state === "going") timer = setTimeout(() => (state = "none"), CHORD_MS);
      if (result.action === undefined) return;
      event.preventDefault();
      latest.current(result.action);
    };
    addEventListener("keydown", listen);
    return () => {
      clearTimeout(timer);
      removeEventListener("keydown", listen);
    };
  }, []);
}

function isField(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

function isInDialog(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('[role="dialog"], [role="menu"]') !== null;
}
