import type { SourceView } from "@sluice/control-api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useApi } from "../../api/queries.js";
import { TransformationChoice } from "../../forms/choices.js";
import { DraftConflict, useDraft } from "../../forms/edit-conflict.js";
import { Button } from "../../ui/controls/button.js";
import { SelectField, TextField } from "../../ui/controls/field.js";
import { useNotify } from "../../ui/feedback.js";
import { Card } from "../../ui/layout/page.js";
import { type FieldIssue, isShownAtFields, issueAt, issuesOf } from "../../words/errors.js";
import { SOURCE_IDENTITIES } from "./source-link.js";

/** What the form edits of a source. */
const EDITED = {
  draftOf: (source: SourceView | undefined) => ({
    name: source?.name ?? "",
    limit: source?.rateLimit === undefined ? "" : String(source.rateLimit),
    identity: source?.identity ?? "none",
    transformationId: source?.transformationId ?? "",
  }),
  partsOf: ({ name, rateLimit, identity, transformationId }: SourceView) => ({
    "the name": name,
    "the rate limit": rateLimit,
    "the identity setting": identity,
    "the transformation": transformationId,
  }),
};

/** The paths of the API's issues that the form has a field for. */
const FIELDS: readonly string[] = ["name", "rateLimit", "identity", "transformationId"];

type SourceDraft = ReturnType<typeof EDITED.draftOf>;

/** Edits the name, rate limit and identity setting of a source. */
export function SourceSettings({ source }: { source: SourceView }) {
  const api = useApi();
  const queries = useQueryClient();
  const notify = useNotify();
  const { draft, change, version, remote, reset } = useDraft(source, EDITED);
  const name = draft.name.trim();
  const { identity } = draft;
  const transformationId = draft.transformationId || null;
  const rateLimit = draft.limit.trim() === "" ? null : Number(draft.limit);
  const isChanged =
    name !== source.name ||
    rateLimit !== (source.rateLimit ?? null) ||
    identity !== source.identity ||
    transformationId !== (source.transformationId ?? null);
  const save = useMutation({
    mutationFn: (upon: number | undefined) =>
      api.sources.patch(source.id, {
        name,
        rateLimit,
        transformationId,
        ...(identity === source.identity ? {} : { identity }),
        ...(upon === undefined ? {} : { version: upon }),
      }),
    onSuccess: (saved) => {
      reset(saved);
      notify("Saved");
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["sources"] }),
  });
  return (
    <Card title="Settings">
      <form
        className="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate(version);
        }}
      >
        <SettingsFields draft={draft} issues={issuesOf(save.error)} change={change} />
        <DraftConflict
          save={
            isShownAtFields(save.error, (path) => FIELDS.includes(path)) ? { ...save, error: null } : save
          }
          remote={remote}
          reset={reset}
        />
        <div>
          <Button
            look="primary"
            type="submit"
            busy={save.isPending}
            disabled={!isChanged || name === "" || !isLimit(draft.limit)}
          >
            Save
          </Button>
        </div>
      </form>
    </Card>
  );
}

/** Empty: no limit. */
function isLimit(text: string): boolean {
  return text.trim() === "" || Number(text) > 0;
}

function SettingsFields({
  draft: { name, limit, identity, transformationId },
  issues,
  change,
}: {
  draft: SourceDraft;
  issues: readonly FieldIssue[];
  change: (part: Partial<SourceDraft>) => void;
}) {
  return (
    <div className="field-grid">
      <TextField
        label="Name"
        maxLength={200}
        error={name.trim() === "" ? "Enter a name." : issueAt(issues, "name")}
        value={name}
        onChange={(event) => change({ name: event.target.value })}
      />
      <TextField
        label="Rate limit"
        optional
        type="number"
        min={0}
        step="any"
        placeholder="no limit"
        hint="Messages per second. Requests over the limit get 429, and SDKs retry them later."
        error={isLimit(limit) ? issueAt(issues, "rateLimit") : "Enter a number above 0, or nothing."}
        value={limit}
        onChange={(event) => change({ limit: event.target.value })}
      />
      <SelectField
        label="Identity"
        hint={SOURCE_IDENTITIES[identity].hint}
        error={issueAt(issues, "identity")}
        options={Object.entries(SOURCE_IDENTITIES).map(([value, { label }]) => [value, label])}
        value={identity}
        onChange={(event) => change({ identity: event.target.value as SourceView["identity"] })}
      />
      <TransformationChoice
        of="source"
        chosen={transformationId}
        error={issueAt(issues, "transformationId")}
        onChange={(id) => change({ transformationId: id })}
      />
    </div>
  );
}
