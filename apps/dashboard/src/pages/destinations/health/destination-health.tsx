import type { CollectorHealthView } from "@sluice/control-api";
import { useDestinationStatus } from "../../../api/queries.js";
import { Badge, Count, Time } from "../../../ui/data/facts.js";
import { visibleText } from "../../../words/messages.js";
import { backlogNote, healthWords, needsAttention } from "../../../words/states.js";

/** The health of a destination as one word in one colour. */
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
  return <HealthBadge of={data} />;
}

export function HealthBadge({
  of: { health, reason },
}: {
  of: Pick<CollectorHealthView, "health" | "reason">;
}) {
  const { tone, label } = healthWords(health);
  return (
    <Badge tone={tone} title={visibleText(reason)}>
      {label}
    </Badge>
  );
}

/** Beside the state: why and since when. Nothing if the destination is healthy or disabled. */
export function HealthNote({ id }: { id: string }) {
  const { data } = useDestinationStatus(id);
  if (data === undefined || !needsAttention(data.health)) return null;
  // The failure itself, without the advice that follows it.
  const note = (data.health === "backing_off" ? (data.lastError ?? data.reason) : data.reason).split(". ")[0];
  return (
    <span className="small soft" title={visibleText(data.reason, 500)}>
      {visibleText(note ?? "", 90)}
      {data.since && (
        <>
          {" "}
          · <Time at={data.since} />
        </>
      )}
    </span>
  );
}

/** The number of messages in the backlog; the tooltip says how it is made up. */
export function BacklogCount({ id }: { id: string }) {
  const { data } = useDestinationStatus(id);
  if (data === undefined) return <>…</>;
  return (
    <span title={backlogNote(data)}>
      <Count value={data.waiting} />
    </span>
  );
}
