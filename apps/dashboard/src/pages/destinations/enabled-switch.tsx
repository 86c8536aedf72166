import type { DestinationPatch, DestinationView } from "@sluice/control-api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { HEALTH_KEY, useApi, useDestinationStatus } from "../../api/queries.js";
import { Button } from "../../ui/controls/button.js";
import { Switch } from "../../ui/controls/field.js";
import { Failure, useNotify } from "../../ui/feedback.js";
import { Dialog } from "../../ui/layout/dialog.js";
import { counted } from "../../words/numbers.js";

/** Enables and disables a destination. If messages wait for a disabled one, it asks what becomes of them. */
export function EnabledSwitch({ destination }: { destination: DestinationView }) {
  const api = useApi();
  const queries = useQueryClient();
  const notify = useNotify();
  const [isAsking, setAsking] = useState(false);
  const waiting = useDestinationStatus(destination.id).data?.waiting ?? 0;
  const change = useMutation({
    mutationFn: (patch: DestinationPatch) =>
      api.destinations.patch(destination.id, { ...patch, version: destination.version }),
    onSuccess: ({ enabled }, { backlog }) => {
      setAsking(false);
      notify(
        !enabled
          ? "Disabled: new messages are skipped"
          : backlog === "skip"
            ? "Enabled: the backlog is skipped"
            : "Enabled: sending the backlog",
      );
    },
    onSettled: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ["destinations"] }),
        queries.invalidateQueries({ queryKey: HEALTH_KEY }),
      ]),
  });
  const messages = counted(waiting, "message");
  return (
    <>
      <Switch
        label={destination.enabled ? "Enabled" : "Disabled"}
        checked={destination.enabled}
        disabled={change.isPending}
        onChange={(enabled) => (enabled && waiting > 0 ? setAsking(true) : change.mutate({ enabled }))}
      />
      <Dialog open={isAsking} onClose={() => setAsking(false)} title={`Enable ${destination.name}?`}>
        <div className="stack">
          <p className="soft">
            {messages} {waiting === 1 ? "waits" : "wait"} from before it was disabled.
          </p>
          {change.isError && <Failure error={change.error} />}
          <div className="row dialog-actions">
            <Button onClick={() => setAsking(false)}>Cancel</Button>
            <Button busy={change.isPending} onClick={() => change.mutate({ enabled: true, backlog: "skip" })}>
              Enable and skip them
            </Button>
            <Button look="primary" busy={change.isPending} onClick={() => change.mutate({ enabled: true })}>
              Enable and send {messages}
            </Button>
          </div>
        </div>
      </Dialog>
    </>
  );
}
