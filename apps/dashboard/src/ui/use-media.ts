import { useCallback, useSyncExternalStore } from "react";

/** There is room for a panel beside a list. */
export const SIDE_PANEL = "(min-width: 1100px)";
/** List rows have two lines. */
export const NARROW = "(max-width: 700px)";

export function useMedia(query: string): boolean {
  const watch = useCallback(
    (onChange: () => void) => {
      const media = matchMedia(query);
      media.addEventListener("change", onChange);
      return () => media.removeEventListener("change", onChange);
    },
    [query],
  );
  return useSyncExternalStore(watch, () => matchMedia(query).matches);
}
