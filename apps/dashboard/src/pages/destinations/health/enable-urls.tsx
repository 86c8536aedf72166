import type { DestinationView } from "@sluice/protocol";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useApi } from "../../../api/api-context.js";
import { Button } from "../../../ui/controls/button.js";
import { Failure } from "../../../ui/feedback/failure.js";
import { useNotify } from "../../../ui/feedback/notice.js";
import { draftOf, settingsOf } from "../settings/settings-draft.js";

/** Saving the list of URLs as it is begins anew with those that answered 410. */
export function EnableUrls({ destination }: { destination: DestinationView }) {
  const api = useApi();
  const queries = useQueryClient();
  const notify = useNotify();
  const save = useMutation({
    mutationFn: () =>
      api.destinations.patch(destination.id, {
        settings: settingsOf(draftOf(destination.settings), new Set(["webhooks"])),
        version: destination.version,
      }),
    onSuccess: () => notify("Saved: messages are sent there again"),
    onSettled: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ["destinations"] }),
        queries.invalidateQueries({ queryKey: ["destination-status", destination.id] }),
      ]),
  });
  return (
    <>
      <Button size="small" busy={save.isPending} onClick={() => save.mutate()}>
        Save again
      </Button>
      {save.isError && <Failure error={save.error} />}
    </>
  );
}
