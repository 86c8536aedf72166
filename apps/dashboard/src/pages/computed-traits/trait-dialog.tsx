import {
  audienceKey,
  COMPUTED_TRAIT_KINDS,
  type ComputedTraitKind,
  type ComputedTraitView,
} from "@sluice/protocol";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { useApi } from "../../api/api-context.js";
import { DestinationChoice } from "../../forms/destination-choice.js";
import { DurationFields } from "../../forms/duration/duration-fields.js";
import { DraftConflict } from "../../forms/edit-conflict.js";
import { useDraft } from "../../forms/use-draft.js";
import { Button } from "../../ui/controls/button.js";
import { Checkbox, SelectField, TextField } from "../../ui/controls/field.js";
import { Dialog } from "../../ui/layout/dialog.js";
import { definitionOf, traitDraftOf, traitOf, traitPatchOf } from "./trait-draft.js";
import { TraitPreview } from "./trait-preview.js";
import { TRAIT_KINDS } from "./trait-words.js";

interface TraitFormProps {
  /** Undefined: a new one. */
  readonly trait?: ComputedTraitView;
  readonly onClose: () => void;
}

/** Makes a computed trait, or changes one, with what it would be for some users. */
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
    "what it is made of": [kind, event, property, withinMs],
    "where it is sent": destinationIds,
    "whether it is enabled": enabled,
  }),
};

function TraitForm({ trait, onClose }: TraitFormProps) {
  const api = useApi();
  const queries = useQueryClient();
  const { draft, change, version, theirs, begin } = useDraft(trait, EDITED);
  const save = useMutation({
    mutationFn: (upon: number | undefined) =>
      trait === undefined
        ? api.computedTraits.create(traitOf(draft))
        : api.computedTraits.patch(trait.id, {
            ...traitPatchOf(draft),
            ...(upon === undefined ? {} : { version: upon }),
          }),
    onSuccess: onClose,
    onSettled: () => queries.invalidateQueries({ queryKey: ["computed-traits"] }),
  });
  const submit = (submitted: FormEvent) => {
    submitted.preventDefault();
    save.mutate(version);
  };
  const key = trait?.key ?? audienceKey(draft.name);
  return (
    <form className="stack" onSubmit={submit}>
      <TextField
        label="Name"
        placeholder="Lifetime value"
        required
        maxLength={200}
        value={draft.name}
        hint={
          key === "" ? (
            "Sent as a trait of this name."
          ) : (
            <>
              Sent as the trait <code>{key}</code>
              {trait !== undefined && ", whatever it is called"}.
            </>
          )
        }
        onChange={(event) => change({ name: event.target.value })}
      />
      <div className="field-grid">
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
            required
            value={draft.property}
            onChange={(event) => change({ property: event.target.value })}
          />
        )}
        <TextField
          label="Event"
          placeholder="Order Completed"
          required
          value={draft.event}
          onChange={(event) => change({ event: event.target.value })}
        />
        <fieldset className="field">
          <legend className="field-label">
            Of the last <span className="field-optional">optional</span>
          </legend>
          <div className="leaf-line">
            <DurationFields
              label="Length of the window; empty for ever"
              placeholder="ever"
              value={draft.within}
              onChange={(within) => change({ within })}
            />
          </div>
        </fieldset>
      </div>
      <TraitPreview definition={definitionOf(draft)} />
      <DestinationChoice
        chosen={draft.destinationIds}
        onChange={(destinationIds) => change({ destinationIds })}
      />
      <Checkbox
        label="Enabled"
        hint="Off: nothing is sent, values are worked out on. On again, what differs by then is sent"
        checked={draft.enabled}
        onChange={(enabled) => change({ enabled })}
      />
      <DraftConflict save={save} theirs={theirs} begin={begin} />
      <div className="row dialog-actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button look="primary" type="submit" busy={save.isPending}>
          {trait === undefined ? "Create computed trait" : "Save"}
        </Button>
      </div>
    </form>
  );
}
