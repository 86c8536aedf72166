import type { DestinationView } from "@sluice/control-api";
import { MESSAGE_KINDS } from "@sluice/protocol";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useApi } from "../../../api/queries.js";
import { SelectField, TextField } from "../../../ui/controls/field.js";
import { Failure, useNotify } from "../../../ui/feedback.js";
import { Dialog, DialogActions } from "../../../ui/layout/dialog.js";
import { counted } from "../../../words/numbers.js";
import { STATE_ORDER, STATES } from "../../../words/states.js";
import { filterOf, newReplay, type ReplayDraft } from "./replay-draft.js";

const KINDS = [...MESSAGE_KINDS, "delete"];

const TEXTS = [
  ["event", "Event"],
  ["userId", "User id"],
  ["messageId", "Message id"],
] as const;

const TIMES = [
  ["from", "From"],
  ["to", "Before"],
] as const;

/** Which messages to replay, to which destination. */
function ReplayFields({
  draft,
  destinations,
  change,
}: {
  draft: ReplayDraft;
  destinations: readonly DestinationView[];
  change: (part: Partial<ReplayDraft>) => void;
}) {
  return (
    <>
      <SelectField
        label="Destination"
        value={draft.destinationId}
        options={destinations.map((one) => [one.id, one.name])}
        onChange={(event) => change({ destinationId: event.target.value })}
      />
      <SelectField
        label="State"
        value={draft.state}
        options={[
          ["", "Any state, including delivered"],
          ...STATE_ORDER.filter((state) => state !== "pending").map(
            (state) => [state, STATES[state].label] as const,
          ),
        ]}
        onChange={(event) => change({ state: event.target.value as ReplayDraft["state"] })}
      />
      <div className="field-grid">
        <SelectField
          label="Kind"
          value={draft.type}
          options={[["", "All kinds"], ...KINDS.map((kind) => [kind, kind] as const)]}
          onChange={(event) => change({ type: event.target.value })}
        />
        {TEXTS.map(([name, label]) => (
          <TextField
            key={name}
            label={label}
            optional
            value={draft[name]}
            onChange={(event) => change({ [name]: event.target.value })}
          />
        ))}
        {TIMES.map(([name, label]) => (
          <TextField
            key={name}
            label={label}
            optional
            type="datetime-local"
            value={draft[name]}
            onChange={(event) => change({ [name]: event.target.value })}
          />
        ))}
      </div>
    </>
  );
}

interface ReplayFormProps {
  readonly destinations: readonly DestinationView[];
  /** The destination that is selected first. Default: the first one. */
  readonly destinationId: string | undefined;
  readonly onClose: () => void;
}

/** Sends stored messages to a destination again: counts them first, then replays that number. */
export function ReplayDialog({ open, ...form }: ReplayFormProps & { open: boolean }) {
  return (
    <Dialog open={open} onClose={form.onClose} title="Replay messages">
      <ReplayForm {...form} />
    </Dialog>
  );
}

function ReplayForm({ destinations, destinationId, onClose }: ReplayFormProps) {
  const api = useApi();
  const [draft, setDraft] = useState(() => newReplay(destinationId ?? destinations[0]?.id ?? ""));
  const dryRun = useMutation({
    mutationFn: () => api.replays.create({ filter: filterOf(draft), dryRun: true }),
  });
  const isDisabled = destinations.some(({ id, enabled }) => id === draft.destinationId && !enabled);
  const replay = useReplay(draft, isDisabled, onClose);
  const change = (part: Partial<ReplayDraft>) => {
    setDraft({ ...draft, ...part });
    // The count was for another filter.
    dryRun.reset();
  };
  const count = dryRun.data?.count;
  const isCounted = count !== undefined && count > 0;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (dryRun.isSuccess) replay.mutate();
    else dryRun.mutate();
  };
  return (
    <form className="stack" onSubmit={submit}>
      <ReplayFields draft={draft} destinations={destinations} change={change} />
      {dryRun.isError && <Failure error={dryRun.error} />}
      {replay.isError && <Failure error={replay.error} />}
      <p role="status" className={count === undefined ? "soft" : "replay-count"}>
        {countInWords(count)}
      </p>
      {isCounted ? (
        <DialogActions icon="replay" busy={replay.isPending} onCancel={onClose}>
          Replay {counted(count, "message")}
        </DialogActions>
      ) : (
        <DialogActions busy={dryRun.isPending} disabled={draft.destinationId === ""} onCancel={onClose}>
          Count messages
        </DialogActions>
      )}
    </form>
  );
}

function useReplay(draft: ReplayDraft, isDisabled: boolean, onClose: () => void) {
  const api = useApi();
  const queries = useQueryClient();
  const notify = useNotify();
  return useMutation({
    mutationFn: () => api.replays.create({ filter: filterOf(draft) }),
    onSuccess: async ({ count }) => {
      const messages = counted(count, "message");
      notify(isDisabled ? `${messages} queued until the destination is enabled` : `${messages} replayed`);
      onClose();
      await queries.invalidateQueries({ queryKey: ["deliveries"] });
    },
  });
}

function countInWords(count: number | undefined): string {
  if (count === undefined) return "Replayed messages keep their ids, so receivers can drop duplicates.";
  return count === 0 ? "No messages match." : `${counted(count, "message")} will be sent again.`;
}
