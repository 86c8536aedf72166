import { useEffect, useRef } from "react";
import { onKey, type ShortcutAction, type ShortcutState } from "./shortcuts.js";

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
