import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useApi } from "../../api/api-context.js";
import type { ControlApi } from "../../api/control-api.js";
import { useDebounced } from "../../forms/use-debounced.js";

/** The result of a definition over all profiles while it is written. Undefined: it is not complete yet. */
export function usePreview<Input, Result>(
  name: "audience-preview" | "trait-preview" | "transformation-test",
  input: Input | undefined,
  read: (api: ControlApi, input: Input, signal: AbortSignal) => Promise<Result>,
) {
  const api = useApi();
  const debounced = useDebounced(input);
  return useQuery({
    queryKey: [name, debounced],
    queryFn: ({ signal }) => read(api, debounced as Input, signal),
    enabled: debounced !== undefined,
    placeholderData: keepPreviousData,
    retry: false,
  });
}
