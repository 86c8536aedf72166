import type { DestinationView } from "@sluice/control-api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useApi } from "../../../api/api-context.js";
import { HEALTH_KEY } from "../../../api/queries.js";
import { Button } from "../../../ui/controls/button.js";
import { Failure } from "../../../ui/feedback/failure.js";
import { useNotify } from "../../../ui/feedback/notice.js";
import { draftOf, settingsOf } from "../settings/settings-draft.js";

/** Enables the URLs that answered 410 Gone: saving the unchanged list of URLs does that. */
export function EnableUrls({ destination }: { destination: DestinationView }) {
  const api = useApi();
  const queries = useQueryClient();
  const notify = useNotify();
  const save = useMutation({
    mutationFn: () =>
      api.destinations.patch(destination.id, {
        settings: settingsOf(draftOf(destination.settings), { properties: { webhooks: {} } }),
        version: destination.version,
      }),
    onSuccess: () => notify("Enabled: messages are sent to all URLs again"),
    onSettled: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ["destinations"] }),
        queries.invalidateQueries({ queryKey: HEALTH_KEY }),
      ]),
  });
  return (
    <>
      <Button size="small" busy={save.isPending} onClick={() => save.mutate()}>
        Enable again
      </Button>
      {save.isError && <Failure error={save.error} />}
    </>
  );
}
