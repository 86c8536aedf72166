import type { DestinationView } from "@sluice/control-api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useApi } from "../../../api/api-context.js";
import { Failure } from "../../../ui/feedback/failure.js";
import { useNotify } from "../../../ui/feedback/notice.js";
import { Dialog } from "../../../ui/layout/dialog.js";
import { DialogActions } from "../../../ui/layout/dialog-actions.js";
import { counted } from "../../../words/numbers.js";
import { filterOf, newReplay, type ReplayDraft } from "./replay-draft.js";
import { ReplayFields } from "./replay-fields.js";

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
