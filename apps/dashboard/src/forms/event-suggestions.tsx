import { useEffect, useState } from "react";
import { useEventNames } from "../api/queries.js";
import { visibleText } from "../words/messages.js";

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

/** Names of events for text fields with this `list`. */
export function EventSuggestions({ id }: { id: string }) {
  return <Suggestions id={id} names={(useEventNames().data ?? []).map(({ name }) => name)} />;
}

/** Names of an event's properties for text fields with this `list`. Of all events if the event is unknown. */
export function PropertySuggestions({ id, event }: { id: string; event: string }) {
  const events = useEventNames().data ?? [];
  const known = events.filter(({ name }) => name === event);
  const names = (known.length > 0 ? known : events).flatMap(({ properties }) => properties);
  return <Suggestions id={id} names={[...new Set(names)].sort()} />;
}

/** A name with characters that cannot be shown is left out: choosing it would insert them. */
function Suggestions({ id, names }: { id: string; names: readonly string[] }) {
  return (
    <datalist id={id}>
      {names
        .filter((name) => visibleText(name, 200) === name)
        .map((name) => (
          <option key={name} value={name} />
        ))}
    </datalist>
  );
}
