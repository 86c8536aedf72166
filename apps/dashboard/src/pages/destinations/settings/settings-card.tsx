import type { CatalogEntryView, DestinationView } from "@sluice/control-api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useEffect, useRef } from "react";
import { useApi } from "../../../api/queries.js";
import { DraftConflict, useDraft } from "../../../forms/edit-conflict.js";
import { Button } from "../../../ui/controls/button.js";
import { useNotify } from "../../../ui/feedback.js";
import { Card } from "../../../ui/layout/page.js";
import { isDestinationField, isShownAtFields, issuesOf } from "../../../words/errors.js";
import { catalogWords } from "../catalog-words.js";
import { DestinationFields, destinationDraft, destinationInput } from "./destination-fields.js";

const EDITED = {
  draftOf: destinationDraft,
  partsOf: ({ name, sourceIds, settings, transformationId, retryForMs, notifyAfterMs }: DestinationView) => ({
    "the name": name,
    "the sources": sourceIds,
    "the settings": settings,
    "the transformation": transformationId,
    "the retry window": retryForMs,
    "the time until a notification": notifyAfterMs,
  }),
};

/** Edits a destination's settings, sources and name. */
export function SettingsCard({
  destination,
  entry,
  field,
}: {
  destination: DestinationView;
  entry: CatalogEntryView;
  /** The setting to begin with: its name in the API. */
  field: string | undefined;
}) {
  const api = useApi();
  const queries = useQueryClient();
  const notify = useNotify();
  const { draft, change, version, remote, reset } = useDraft(destination, EDITED);
  const save = useMutation({
    mutationFn: (upon: number | undefined) =>
      api.destinations.patch(destination.id, {
        ...destinationInput(draft, entry),
        transformationId: draft.transformationId || null,
        ...(upon === undefined ? {} : { version: upon }),
      }),
    onSuccess: (saved) => {
      reset(saved);
      notify("Saved");
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["destinations"] }),
  });
  const issues = issuesOf(save.error);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (field === undefined) return;
    // The tab with the form is shown after this render.
    const frame = requestAnimationFrame(() => {
      const part = form.current?.querySelector(`[data-setting="${CSS.escape(field)}"]`);
      part?.querySelector<HTMLElement>("input, button")?.focus();
    });
    return () => cancelAnimationFrame(frame);
  }, [field]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate(version);
  };
  return (
    <Card title="Settings" note={catalogWords(entry).lead}>
      <form ref={form} className="stack-wide form-width" onSubmit={submit} noValidate>
        <DestinationFields
          entry={entry}
          draft={draft}
          stored={destination.settings}
          issues={issues}
          onChange={change}
        />
        <DraftConflict
          save={isShownAtFields(save.error, isDestinationField) ? { ...save, error: null } : save}
          remote={remote}
          reset={reset}
        />
        <div>
          <Button look="primary" type="submit" busy={save.isPending}>
            Save
          </Button>
        </div>
      </form>
    </Card>
  );
}
