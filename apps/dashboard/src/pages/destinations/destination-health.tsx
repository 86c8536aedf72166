import type { DestinationStatusView } from "@sluice/protocol";
import { useDestinationStatus } from "../../api/queries.js";
import { Badge } from "../../ui/badge.js";
import { count } from "../../words/numbers.js";
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

/** Messages that wait: those it has not come to, and those that are to be tried again. */
export function DestinationLag({ id }: { id: string }) {
  const { data } = useDestinationStatus(id);
  if (data === undefined) return <>…</>;
  // What is behind a disabled destination is skipped, not waited for.
  if (data.state === "disabled")
    return <span title="waiting from before it was disabled">{count(data.retries)}</span>;
  return (
    <span
      title={`${count(data.behind)} not looked at yet, ${count(data.retries)} waiting for another attempt`}
    >
      {count(data.behind + data.retries)}
    </span>
  );
}
