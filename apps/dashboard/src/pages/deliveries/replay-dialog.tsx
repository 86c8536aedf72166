import {
  type DestinationView,
  type FinalStateView,
  MESSAGE_KINDS,
  type ReplayFilter,
} from "@sluice/protocol";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useApi } from "../../api/api-context.js";
import { Button } from "../../ui/controls/button.js";
import { SelectField, TextField } from "../../ui/controls/field.js";
import { Failure } from "../../ui/feedback/failure.js";
import { useNotify } from "../../ui/feedback/notice.js";
import { Dialog } from "../../ui/layout/dialog.js";
import { counted } from "../../words/numbers.js";
import { STATE_ORDER, STATES } from "../../words/states.js";

interface ReplayDraft {
  readonly destinationId: string;
  readonly state: FinalStateView | "";
  readonly type: string;
  readonly messageId: string;
  readonly event: string;
  readonly userId: string;
  readonly from: string;
  readonly to: string;
}

/** Sends stored messages to a destination again: first counts them, then, told the number, sends. */
export function ReplayDialog({
  open,
  destinations,
  destinationId,
  onClose,
}: {
  open: boolean;
  destinations: readonly DestinationView[];
  destinationId: string | undefined;
  onClose: () => void;
}) {
  return (
    <Dialog open={open} onClose={onClose} title="Replay messages">
      <ReplayForm destinations={destinations} destinationId={destinationId} onClose={onClose} />
    </Dialog>
  );
}

function ReplayForm({
  destinations,
  destinationId,
  onClose,
}: {
  destinations: readonly DestinationView[];
  destinationId: string | undefined;
  onClose: () => void;
}) {
  const api = useApi();
  const queries = useQueryClient();
  const notify = useNotify();
  const [draft, setDraft] = useState<ReplayDraft>({
    destinationId: destinationId ?? destinations[0]?.id ?? "",
    state: "failed",
    type: "",
    messageId: "",
    event: "",
    userId: "",
    from: "",
    to: "",
  });
  const dryRun = useMutation({
    mutationFn: () => api.replays.create({ filter: filterOf(draft), dryRun: true }),
  });
  const replay = useMutation({
    mutationFn: () => api.replays.create({ filter: filterOf(draft) }),
    onSuccess: async ({ count }) => {
      const isDisabled = destinations.some(({ id, enabled }) => id === draft.destinationId && !enabled);
      notify(
        `${counted(count, "message")} ${isDisabled ? "queued until the destination is enabled again" : "sent again"}`,
      );
      onClose();
      await queries.invalidateQueries({ queryKey: ["deliveries"] });
    },
  });
  const change = (part: Partial<ReplayDraft>) => {
    setDraft({ ...draft, ...part });
    // The count was of another filter.
    dryRun.reset();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (dryRun.isSuccess) replay.mutate();
    else dryRun.mutate();
  };
  const found = dryRun.data?.count;
  return (
    <form className="stack" onSubmit={submit}>
      <SelectField
        label="Destination"
        value={draft.destinationId}
        options={destinations.map((one) => [one.id, one.name])}
        onChange={(event) => change({ destinationId: event.target.value })}
      />
      <SelectField
        label="Messages that are"
        value={draft.state}
        options={[
          ["", "in any state, delivered ones too"],
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
          options={[["", "every kind"], ...[...MESSAGE_KINDS, "delete"].map((kind) => [kind, kind] as const)]}
          onChange={(event) => change({ type: event.target.value })}
        />
        <TextField
          label="Event"
          optional
          value={draft.event}
          onChange={(event) => change({ event: event.target.value })}
        />
        <TextField
          label="User id"
          optional
          value={draft.userId}
          onChange={(event) => change({ userId: event.target.value })}
        />
        <TextField
          label="Message id"
          optional
          value={draft.messageId}
          onChange={(event) => change({ messageId: event.target.value })}
        />
        <TextField
          label="From"
          optional
          type="datetime-local"
          value={draft.from}
          onChange={(event) => change({ from: event.target.value })}
        />
        <TextField
          label="Before"
          optional
          type="datetime-local"
          value={draft.to}
          onChange={(event) => change({ to: event.target.value })}
        />
      </div>
      {dryRun.isError && <Failure error={dryRun.error} />}
      {replay.isError && <Failure error={replay.error} />}
      <p role="status" className={found === undefined ? "soft" : "replay-count"}>
        {found === undefined
          ? "They keep their message ids, so a receiver that remembers them takes none twice."
          : found === 0
            ? "No message fits. Nothing would be sent."
            : `${counted(found, "message")} would be sent again.`}
      </p>
      <div className="row dialog-actions">
        <Button onClick={onClose}>Cancel</Button>
        {found === undefined || found === 0 ? (
          <Button look="primary" type="submit" busy={dryRun.isPending} disabled={draft.destinationId === ""}>
            Count first
          </Button>
        ) : (
          <Button look="primary" icon="replay" type="submit" busy={replay.isPending}>
            Replay {counted(found, "message")}
          </Button>
        )}
      </div>
    </form>
  );
}

/** Fields that were left empty ask nothing; a local time becomes UTC. */
function filterOf(draft: ReplayDraft): ReplayFilter {
  const { destinationId, state, type, messageId, event, userId, from, to } = draft;
  return {
    destinationId,
    ...(state === "" ? {} : { state }),
    ...(type === "" ? {} : { type }),
    ...(messageId.trim() === "" ? {} : { messageId: messageId.trim() }),
    ...(event.trim() === "" ? {} : { event: event.trim() }),
    ...(userId.trim() === "" ? {} : { userId: userId.trim() }),
    ...(from === "" ? {} : { from: new Date(from).toISOString() }),
    ...(to === "" ? {} : { to: new Date(to).toISOString() }),
  };
}
