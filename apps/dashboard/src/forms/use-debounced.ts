import { useEffect, useState } from "react";

/** How long after the last change a value counts as settled. */
const SETTLE_MS = 400;

/** A value that is being written, once nothing of it has changed for a moment: what is asked of the collector meanwhile is nothing. */
export function useDebounced<T>(value: T): T {
  const [settled, setSettled] = useState(value);
  const text = JSON.stringify(value);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the same value made anew is the same value
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
