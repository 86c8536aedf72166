import { useEffect, useState } from "react";

/** The value must not change for this long. */
const QUIET_MS = 400;

/** The latest value, once it has not changed for a moment. Avoids a request for every key. */
export function useDebounced<T>(value: T): T {
  const [debounced, setDebounced] = useState(value);
  const text = JSON.stringify(value);
  // biome-ignore lint/correctness/useExhaustiveDependencies: equal values count as the same value
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(value), QUIET_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return debounced;
}
