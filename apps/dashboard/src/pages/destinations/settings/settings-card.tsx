import type { CatalogEntryView, DestinationView } from "@sluice/control-api";
import { RETRY_WINDOW } from "@sluice/protocol";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useEffect, useRef } from "react";
import { useApi } from "../../../api/api-context.js";
import { useSources } from "../../../api/queries.js";
import { durationDraft, durationMs } from "../../../forms/duration/duration-draft.js";
import { DraftConflict } from "../../../forms/edit-conflict.js";
import { useDraft } from "../../../forms/use-draft.js";
import { Button } from "../../../ui/controls/button.js";
import { useNotify } from "../../../ui/feedback/notice.js";
import { Card } from "../../../ui/layout/page.js";
import { isDestinationField, isShownAtFields, issuesOf } from "../../../words/issues.js";
import { catalogWords } from "../catalog-words.js";
import { NameField } from "./name-field.js";
import { NOTIFY_AFTER_MS, NotifyField } from "./notify-field.js";
import { RetryField } from "./retry-field.js";
import { draftOf, settingsOf } from "./settings-draft.js";
import { SettingsForm } from "./settings-form.js";
import { SourceChoice } from "./source-choice.js";

/** What the form edits of a destination. */
const EDITED = {
  draftOf: (destination: DestinationView | undefined) => ({
    name: destination?.name ?? "",
    sourceIds: destination?.sourceIds ?? [],
    settings: draftOf(destination?.settings ?? {}),
    retryFor: durationDraft(destination?.retryForMs, "hours"),
    notifyAfter: durationDraft(destination?.notifyAfterMs, "minutes"),
  }),
  partsOf: ({ name, sourceIds, settings, retryForMs, notifyAfterMs }: DestinationView) => ({
    "the name": name,
    "the sources": sourceIds,
    "the settings": settings,
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
  const sources = useSources().data ?? [];
  const { draft, change, version, remote, reset } = useDraft(destination, EDITED);
  const save = useMutation({
    mutationFn: (upon: number | undefined) =>
      api.destinations.patch(destination.id, {
        name: draft.name.trim(),
        sourceIds: draft.sourceIds,
        settings: settingsOf(draft.settings, entry.settingsSchema),
        retryForMs: durationMs(draft.retryFor) ?? RETRY_WINDOW.defaultMs,
        notifyAfterMs: durationMs(draft.notifyAfter) ?? NOTIFY_AFTER_MS,
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
      <form ref={form} className="stack-wide" onSubmit={submit} noValidate>
        <SettingsForm
          schema={entry.settingsSchema}
          draft={draft.settings}
          issues={issues}
          stored={destination.settings}
          onChange={(settings) => change({ settings })}
        />
        <SourceChoice
          sources={sources}
          kinds={entry.sources}
          chosen={draft.sourceIds}
          onChange={(sourceIds) => change({ sourceIds })}
        />
        <RetryField value={draft.retryFor} issues={issues} onChange={(retryFor) => change({ retryFor })} />
        <NotifyField
          value={draft.notifyAfter}
          issues={issues}
          onChange={(notifyAfter) => change({ notifyAfter })}
        />
        <NameField value={draft.name} issues={issues} onChange={(name) => change({ name })} />
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
