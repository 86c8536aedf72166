import { audienceKey, COMPUTED_TRAIT_KINDS, type ComputedTraitKind } from "@sluice/protocol";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useApi } from "../../api/api-context.js";
import { useDestinations } from "../../api/queries.js";
import { Button } from "../../ui/button.js";
import { Dialog } from "../../ui/dialog.js";
import { Failure } from "../../ui/failure.js";
import { Checkbox, SelectField, TextField } from "../../ui/field.js";
import { TRAIT_KINDS } from "./trait-words.js";

const DAY_MS = 86_400_000;

export function NewTrait({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Dialog open={open} onClose={onClose} title="New computed trait">
      <NewTraitForm onClose={onClose} />
    </Dialog>
  );
}

function NewTraitForm({ onClose }: { onClose: () => void }) {
  const api = useApi();
  const queries = useQueryClient();
  const destinations = useDestinations().data ?? [];
  const [name, setName] = useState("");
  const [kind, setKind] = useState<ComputedTraitKind>("count");
  const [event, setEvent] = useState("");
  const [property, setProperty] = useState("");
  const [days, setDays] = useState("");
  const [destinationIds, setDestinationIds] = useState<readonly string[]>([]);
  const create = useMutation({
    mutationFn: () =>
      api.computedTraits.create({
        name: name.trim(),
        kind,
        event: event.trim(),
        ...(kind === "count" ? {} : { property: property.trim() }),
        ...(days === "" ? {} : { withinMs: Math.round(Number(days) * DAY_MS) }),
        destinationIds,
      }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["computed-traits"] });
      onClose();
    },
  });
  const submit = (submitted: FormEvent) => {
    submitted.preventDefault();
    create.mutate();
  };
  const key = audienceKey(name);
  return (
    <form className="stack" onSubmit={submit}>
      <TextField
        label="Name"
        placeholder="Lifetime value"
        required
        value={name}
        hint={
          key === "" ? (
            "Sent as a trait of this name."
          ) : (
            <>
              Sent as the trait <code>{key}</code>.
            </>
          )
        }
        onChange={(change) => setName(change.target.value)}
      />
      <div className="field-grid">
        <SelectField
          label="Value"
          value={kind}
          options={COMPUTED_TRAIT_KINDS.map((one) => [one, TRAIT_KINDS[one]])}
          onChange={(change) => setKind(change.target.value as ComputedTraitKind)}
        />
        {kind !== "count" && (
          <TextField
            label="Property"
            placeholder="total"
            required
            value={property}
            onChange={(change) => setProperty(change.target.value)}
          />
        )}
        <TextField
          label="Event"
          placeholder="Order Completed"
          required
          value={event}
          onChange={(change) => setEvent(change.target.value)}
        />
        <TextField
          label="Of the last days"
          optional
          type="number"
          min={1}
          placeholder="ever"
          value={days}
          onChange={(change) => setDays(change.target.value)}
        />
      </div>
      {destinations.length > 0 && (
        <fieldset className="stack-tight">
          <legend className="field-label">Sent to</legend>
          {destinations.map((one) => (
            <Checkbox
              key={one.id}
              label={one.name}
              checked={destinationIds.includes(one.id)}
              onChange={(isChosen) =>
                setDestinationIds(
                  isChosen ? [...destinationIds, one.id] : destinationIds.filter((other) => other !== one.id),
                )
              }
            />
          ))}
        </fieldset>
      )}
      {create.isError && <Failure error={create.error} />}
      <div className="row dialog-actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button look="primary" type="submit" busy={create.isPending}>
          Create computed trait
        </Button>
      </div>
    </form>
  );
}
