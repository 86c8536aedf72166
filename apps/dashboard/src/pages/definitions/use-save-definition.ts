import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { Definition, DefinitionKind } from "./definition-kind.js";

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
