import type { DestinationStatusView } from "@sluice/protocol";
import { useDestinationStatus } from "../../api/queries.js";
import { Badge } from "../../ui/badge.js";
import { Count } from "../../ui/count.js";
import { lagNote } from "../../words/lag.js";
import type { Tone } from "../../words/states.js";
import { visibleText } from "../../words/visible-text.js";

export const HEALTH: Readonly<
  Record<DestinationStatusView["state"], { readonly label: string; readonly tone: Tone }>
> = {
  delivering: { label: "Delivering", tone: "good" },
  backing_off: { label: "Backing off", tone: "bad" },
  disabled: { label: "Disabled", tone: "quiet" },
};

export function DestinationHealth({ id }: { id: string }) {
  const { data, isError } = useDestinationStatus(id);
  if (isError)
    return (
      <Badge steady tone="bad">
        Unknown
      </Badge>
    );
  if (data === undefined)
    return (
      <Badge steady tone="quiet">
        …
      </Badge>
    );
  const words = HEALTH[data.state];
  return (
    <Badge
      tone={words.tone}
      {...(data.lastError === undefined ? {} : { title: visibleText(data.lastError) })}
    >
      {words.label}
    </Badge>
  );
}

/** How many messages wait for it now, and on hover what they are. */
export function DestinationLag({ id }: { id: string }) {
  const { data } = useDestinationStatus(id);
  if (data === undefined) return <>…</>;
  return (
    <span title={lagNote(data)}>
      <Count value={data.waiting} />
    </span>
  );
}
