import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useApi } from "../../api/api-context.js";
import type { ControlApi } from "../../api/control-api.js";
import { useDebounced } from "../../forms/use-debounced.js";
import type { Definition, DefinitionKind } from "./definition-kind.js";

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

/** Creates a definition, or replaces the version that the form was filled in for. */
export function useSaveDefinition<T extends Definition>({
  kind,
  existing,
  create,
  patch,
  onSaved,
}: {
  kind: Pick<DefinitionKind<T>, "resource">;
  /** Undefined: a new one. */
  existing: T | undefined;
  create: () => Promise<T>;
  patch: (id: string, upon: { readonly version?: number }) => Promise<T>;
  onSaved: (saved: T) => void;
}) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (version: number | undefined) =>
      existing === undefined ? create() : patch(existing.id, version === undefined ? {} : { version }),
    onSuccess: onSaved,
    onSettled: () => queries.invalidateQueries({ queryKey: [kind.resource] }),
  });
}
