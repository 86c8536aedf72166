import type { SourceView } from "@sluice/control-api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useApi } from "../../api/queries.js";
import { IconButton } from "../../ui/controls/button.js";
import { InlineForm } from "../../ui/controls/field.js";
import { Failure } from "../../ui/feedback.js";
import { Card } from "../../ui/layout/page.js";

/** Track events of a source that are not sent to any destination. */
export function BlockedEvents({ source }: { source: SourceView }) {
  const api = useApi();
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const save = useMutation({
    mutationFn: (blockedEvents: readonly string[]) =>
      api.sources.patch(source.id, { blockedEvents, version: source.version }),
    onSettled: () => queries.invalidateQueries({ queryKey: ["sources"] }),
  });
  const add = (wanted: string) => {
    if (wanted === "" || source.blockedEvents.includes(wanted)) return;
    save.mutate([...source.blockedEvents, wanted], { onSuccess: () => setName("") });
  };
  return (
    <Card
      title="Blocked events"
      note="Track events with these names are stored and counted, but not sent to any destination"
    >
      <div className="stack">
        {source.blockedEvents.length > 0 && (
          <ul className="chips">
            {source.blockedEvents.map((event) => (
              <li key={event} className="chip">
                {event}
                <IconButton
                  icon="close"
                  label={`Unblock ${event}`}
                  onClick={() => save.mutate(source.blockedEvents.filter((one) => one !== event))}
                />
              </li>
            ))}
          </ul>
        )}
        <InlineForm
          label="Event to block"
          placeholder="Name of a track event"
          button="Block"
          value={name}
          busy={save.isPending}
          onChange={setName}
          onSubmit={add}
        />
        {save.isError && <Failure error={save.error} />}
      </div>
    </Card>
  );
}
