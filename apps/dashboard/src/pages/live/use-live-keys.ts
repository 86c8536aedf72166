import { type RefObject, useEffect, useRef } from "react";

const LIST_KEYS = ["ArrowDown", "ArrowUp", "PageDown", "PageUp", "Home", "End"];

/** `/` focuses the filter, Space pauses. Arrow keys go to the list, wherever the focus is on the page. */
export function useLiveKeys(field: RefObject<HTMLInputElement | null>, onPause: () => void): void {
  const latest = useRef(onPause);
  latest.current = onPause;
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (/^(INPUT|TEXTAREA|SELECT|BUTTON|A)$/.test(target.tagName) || target.closest('[role="dialog"]'))
        return;
      if (event.key === "/") field.current?.focus();
      else if (event.key === " ") latest.current();
      else if (LIST_KEYS.includes(event.key) && !event.defaultPrevented && !hasOwnKeys(target)) toList(event);
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, [field]);
}

/** Tabs, menus and the list itself handle arrow keys. */
function hasOwnKeys(target: HTMLElement): boolean {
  return target.closest('[role="listbox"], [role="tablist"], [role="menu"]') !== null;
}

/** Focuses the list of messages and gives it the key. */
function toList({ key }: KeyboardEvent): void {
  const list = document.querySelector<HTMLElement>('.log[role="listbox"]');
  list?.focus();
  list?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
}
