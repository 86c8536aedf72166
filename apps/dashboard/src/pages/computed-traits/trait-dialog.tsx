import type { ComputedTraitDefinition, ComputedTraitView } from "@sluice/control-api";
import { COMPUTED_TRAIT_KINDS, type ComputedTraitKind } from "@sluice/protocol";
import { type FormEvent, useId } from "react";
import { useApi } from "../../api/queries.js";
import { DestinationChoice } from "../../forms/choices.js";
import { DurationFields } from "../../forms/duration.js";
import { DraftConflict, useDraft } from "../../forms/edit-conflict.js";
import { EventSuggestions, PropertySuggestions } from "../../forms/event-suggestions.js";
import { Checkbox, SelectField, TextField } from "../../ui/controls/field.js";
import { Dialog, DialogActions } from "../../ui/layout/dialog.js";
import { count, counted, duration } from "../../words/numbers.js";
import { COMPUTED_TRAITS, usePreview, useSaveDefinition } from "../definitions/definition-kind.js";
import { KeyHint, PreviewBody } from "../definitions/definition-parts.js";
import {
  definitionOf,
  isComplete,
  TRAIT_KINDS,
  type TraitDraft,
  traitDraftOf,
  traitOf,
  traitPatchOf,
} from "./trait-draft.js";
import { ValueList } from "./value-card.js";

interface TraitFormProps {
  /** Undefined: a new one. */
  readonly trait?: ComputedTraitView;
  readonly onClose: () => void;
}

/** Creates or edits a computed trait, with a preview. */
export function TraitDialog({ open, ...form }: TraitFormProps & { open: boolean }) {
  return (
    <Dialog
      open={open}
      onClose={form.onClose}
      title={form.trait === undefined ? "New computed trait" : `Edit ${form.trait.name}`}
    >
      <TraitForm {...form} />
    </Dialog>
  );
}

/** What the form edits of a computed trait. */
const EDITED = {
  draftOf: traitDraftOf,
  partsOf: ({ name, kind, event, property, withinMs, destinationIds, enabled }: ComputedTraitView) => ({
    "the name": name,
    "the definition": [kind, event, property, withinMs],
    "the destinations": destinationIds,
    "the enabled state": enabled,
  }),
};

function TraitForm({ trait, onClose }: TraitFormProps) {
  const api = useApi();
  const { draft, change, version, remote, reset } = useDraft(trait, EDITED);
  const save = useSaveDefinition({
    kind: COMPUTED_TRAITS,
    existing: trait,
    create: () => api.computedTraits.create(traitOf(draft)),
    patch: (id, upon) => api.computedTraits.patch(id, { ...traitPatchOf(draft), ...upon }),
    onSaved: onClose,
  });
  const submit = (submitted: FormEvent) => {
    submitted.preventDefault();
    save.mutate(version);
  };
  return (
    <form className="stack" onSubmit={submit}>
      <TextField
        label="Name"
        placeholder="Lifetime value"
        required
        maxLength={200}
        value={draft.name}
        hint={<KeyHint existing={trait} name={draft.name} />}
        onChange={(event) => change({ name: event.target.value })}
      />
      <DefinitionFields draft={draft} change={change} />
      <TraitPreview definition={definitionOf(draft)} />
      <DestinationChoice
        chosen={draft.destinationIds}
        onChange={(destinationIds) => change({ destinationIds })}
      />
      <Checkbox
        label="Enabled"
        hint="While disabled, values keep updating but nothing is sent. Enabling it sends the difference."
        checked={draft.enabled}
        onChange={(enabled) => change({ enabled })}
      />
      <DraftConflict save={save} remote={remote} reset={reset} />
      <DialogActions busy={save.isPending} onCancel={onClose}>
        {trait === undefined ? "Create computed trait" : "Save"}
      </DialogActions>
    </form>
  );
}

function DefinitionFields({
  draft,
  change,
}: {
  draft: TraitDraft;
  change: (part: Partial<TraitDraft>) => void;
}) {
  const eventListId = useId();
  const propertyListId = useId();
  return (
    <div className="field-grid">
      <EventSuggestions id={eventListId} />
      <PropertySuggestions id={propertyListId} event={draft.event} />
      <SelectField
        label="Value"
        value={draft.kind}
        options={COMPUTED_TRAIT_KINDS.map((one) => [one, TRAIT_KINDS[one]])}
        onChange={(event) => change({ kind: event.target.value as ComputedTraitKind })}
      />
      {draft.kind !== "count" && (
        <TextField
          label="Property"
          placeholder="total"
          list={propertyListId}
          required
          value={draft.property}
          onChange={(event) => change({ property: event.target.value })}
        />
      )}
      <TextField
        label="Event"
        placeholder="Order Completed"
        list={eventListId}
        required
        value={draft.event}
        onChange={(event) => change({ event: event.target.value })}
      />
      <fieldset className="field">
        <legend className="field-label">
          In the last <span className="field-optional">optional</span>
        </legend>
        <div className="leaf-line">
          <DurationFields
            label="Time window. Leave empty for no limit"
            placeholder="∞"
            value={draft.within}
            onChange={(within) => change({ within })}
          />
        </div>
      </fieldset>
    </div>
  );
}

/** The values that the definition would give some users now. */
function TraitPreview({ definition }: { definition: ComputedTraitDefinition }) {
  const input = isComplete(definition) ? definition : undefined;
  const preview = usePreview("trait-preview", input, (api, wanted, signal) =>
    api.computedTraits.preview(wanted, signal),
  );
  return (
    <section className="trait-preview" aria-label="Preview" aria-live="polite" aria-busy={preview.isFetching}>
      <PreviewBody
        isComplete={input !== undefined}
        query={preview}
        incomplete="Complete the definition to see a preview."
      >
        {({ size, evaluated, tookMs, sample }) => (
          <>
            <p>
              <strong className="number">{count(size)}</strong>{" "}
              <span className="soft">
                of {counted(evaluated, "profile")} would have a value now, counted in {duration(tookMs)}
              </span>
            </p>
            <ValueList values={sample} />
          </>
        )}
      </PreviewBody>
    </section>
  );
}
