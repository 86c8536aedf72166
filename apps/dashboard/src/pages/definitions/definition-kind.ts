import type { SyncView } from "@sluice/control-api";
import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ControlApi } from "../../api/control-api.js";
import { useApi } from "../../api/queries.js";
import { useDebounced } from "../../forms/event-suggestions.js";
import { addresses } from "../../routing/addresses.js";
import type { IconName } from "../../ui/icon.js";

/** The fields that audiences and computed traits share. */
export interface Definition {
  readonly id: string;
  readonly name: string;
  /** The trait that destinations get. */
  readonly key: string;
  readonly destinationIds: readonly string[];
  readonly enabled: boolean;
  readonly createdAt: string;
  readonly status: SyncView;
  readonly version: number;
}

/** How the pages of one kind of definition differ from those of the other. */
export interface DefinitionKind<T extends Definition> {
  /** The first part of the query keys. */
  readonly resource: "audiences" | "computed-traits";
  readonly label: string;
  readonly icon: IconName;
  readonly up: { readonly href: string; readonly label: string };
  readonly address: (id: string) => string;
  /** The methods of the API for this kind. */
  readonly client: (api: ControlApi) => {
    get(id: string): Promise<T>;
    delete(id: string): Promise<void>;
  };
}

export const AUDIENCES = {
  resource: "audiences",
  label: "Audience",
  icon: "audiences",
  up: { href: addresses.audiences(), label: "Audiences" },
  address: addresses.audience,
  client: (api: ControlApi) => api.audiences,
} as const;

export const COMPUTED_TRAITS = {
  resource: "computed-traits",
  label: "Computed trait",
  icon: "traits",
  up: { href: addresses.computedTraits(), label: "Computed traits" },
  address: addresses.computedTrait,
  client: (api: ControlApi) => api.computedTraits,
} as const;

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
