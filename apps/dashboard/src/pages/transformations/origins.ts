import { useDestinations, useSources } from "../../api/queries.js";
import { visibleText } from "../../words/messages.js";

/** Whose messages code runs on: empty for any source's, `source:ID`, or `destination:ID` for what that destination gets. */
export type Origin = string;

export const ANY_SOURCE: Origin = "";

/** As the control API takes it. */
export function idIn(origin: Origin): { readonly sourceId?: string; readonly destinationId?: string } {
  const id = origin.slice(origin.indexOf(":") + 1);
  if (origin.startsWith("source:")) return { sourceId: id };
  return origin.startsWith("destination:") ? { destinationId: id } : {};
}

/** Choices of a form. */
export function useOrigins(): readonly (readonly [origin: Origin, label: string])[] {
  const sources = useSources().data ?? [];
  const destinations = useDestinations().data ?? [];
  return [
    [ANY_SOURCE, "Any source"],
    ...sources.map(({ id, name }) => [`source:${id}`, `Source ${visibleText(name, 60)}`] as const),
    ...destinations.map(
      ({ id, name }) =>
        [`destination:${id}`, `Destination ${visibleText(name, 60)}, as it gets them`] as const,
    ),
  ];
}
