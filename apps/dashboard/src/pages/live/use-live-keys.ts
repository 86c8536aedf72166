import { type RefObject, useEffect, useRef } from "react";

/** `/` focuses the filter, Space pauses. */
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
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, [field]);
}
