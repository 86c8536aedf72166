import type { TransformationView } from "@sluice/control-api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useLocation } from "wouter";
import { useApi } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { useNotify } from "../../ui/feedback.js";

/** What the page edits of a transformation. */
export type TransformationDraft = Pick<TransformationView, "name" | "code" | "language">;

type Code = Pick<TransformationView, "code" | "language">;

export function isNewVersion(draft: Code, before: Code): boolean {
  return draft.code !== before.code || draft.language !== before.language;
}

/** Creates a transformation, or saves a new version of it, or only its name. */
export function useSave(
  transformation: TransformationView | undefined,
  { name, code, language }: TransformationDraft,
  onSaved: (saved: TransformationView) => void,
) {
  const api = useApi();
  const queries = useQueryClient();
  const notify = useNotify();
  const [, navigate] = useLocation();
  return useMutation({
    mutationFn: (version: number | undefined) => {
      const input = { name: name.trim(), code, language };
      if (transformation === undefined) return api.transformations.create(input);
      return api.transformations.patch(transformation.id, {
        ...(isNewVersion(input, transformation) ? input : { name: input.name }),
        ...(version === undefined ? {} : { version }),
      });
    },
    onSuccess: (saved) => {
      queries.setQueryData(["transformations", saved.id], saved);
      onSaved(saved);
      const isSameVersion = transformation !== undefined && !isNewVersion(saved, transformation);
      notify(isSameVersion ? "Saved" : `Saved. Version ${saved.current} is in force`);
      if (transformation === undefined) navigate(addresses.transformation(saved.id));
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["transformations"] }),
  });
}
