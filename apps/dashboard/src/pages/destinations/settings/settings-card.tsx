import type { CatalogEntryView, DestinationView } from "@sluice/control-api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { useApi } from "../../../api/api-context.js";
import { useSources } from "../../../api/queries.js";
import { DraftConflict } from "../../../forms/edit-conflict.js";
import { useDraft } from "../../../forms/use-draft.js";
import { Button } from "../../../ui/controls/button.js";
import { useNotify } from "../../../ui/feedback/notice.js";
import { Card } from "../../../ui/layout/page.js";
import { issuesOf } from "../../../words/issues.js";
import { catalogWords } from "../catalog-words.js";
import { NameField } from "./name-field.js";
import { propertyNames } from "./schema-fields.js";
import { draftOf, settingsOf } from "./settings-draft.js";
import { SettingsForm } from "./settings-form.js";
import { SourceChoice } from "./source-choice.js";

/** What the form edits of a destination. */
const EDITED = {
  draftOf: (destination: DestinationView | undefined) => ({
    name: destination?.name ?? "",
    sourceIds: destination?.sourceIds ?? [],
    settings: draftOf(destination?.settings ?? {}),
  }),
  partsOf: ({ name, sourceIds, settings }: DestinationView) => ({
    "the name": name,
    "the sources": sourceIds,
    "the settings": settings,
  }),
};

/** Edits a destination's settings, sources and name. */
export function SettingsCard({
  destination,
  entry,
}: {
  destination: DestinationView;
  entry: CatalogEntryView;
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
        settings: settingsOf(draft.settings, propertyNames(entry.settingsSchema)),
        ...(upon === undefined ? {} : { version: upon }),
      }),
    onSuccess: (saved) => {
      reset(saved);
      notify("Saved");
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["destinations"] }),
  });
  const issues = issuesOf(save.error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate(version);
  };
  return (
    <Card title="Settings" note={catalogWords(destination.type).lead}>
      <form className="stack-wide" onSubmit={submit} noValidate>
        <SettingsForm
          schema={entry.settingsSchema}
          draft={draft.settings}
          issues={issues}
          hasSecret={destination.settings.sharedSecretSet === true}
          onChange={(settings) => change({ settings })}
        />
        <SourceChoice
          sources={sources}
          kinds={entry.sources}
          chosen={draft.sourceIds}
          onChange={(sourceIds) => change({ sourceIds })}
        />
        <NameField value={draft.name} issues={issues} onChange={(name) => change({ name })} />
        <DraftConflict save={save} remote={remote} reset={reset} />
        <div>
          <Button look="primary" type="submit" busy={save.isPending}>
            Save
          </Button>
        </div>
      </form>
    </Card>
  );
}
