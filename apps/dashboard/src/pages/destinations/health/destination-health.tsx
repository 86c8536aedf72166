import type { DestinationStatusView } from "@sluice/control-api";
import { useDestinationStatus } from "../../../api/queries.js";
import { Badge } from "../../../ui/data/badge.js";
import { Count } from "../../../ui/data/count.js";
import { Time } from "../../../ui/data/time.js";
import { backlogNote } from "../../../words/backlog.js";
import { HEALTH } from "../../../words/health.js";
import { counted } from "../../../words/numbers.js";
import { visibleText } from "../../../words/visible-text.js";

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
  const words = HEALTH[data.health];
  return (
    <Badge
      tone={words.tone}
      {...(data.lastError === undefined ? {} : { title: visibleText(data.lastError) })}
    >
      {words.label}
    </Badge>
  );
}

/** Beside the state: the error and since when. Nothing if the destination is healthy. */
export function HealthNote({ id }: { id: string }) {
  const { data } = useDestinationStatus(id);
  if (data === undefined) return null;
  const note = noteOf(data);
  if (note === undefined) return null;
  return (
    <span className="small soft state-note">
      {note}
      {data.failingSince && (
        <>
          {" "}
          · <Time at={data.failingSince} />
        </>
      )}
    </span>
  );
}

/** The error without the advice that follows it. */
function noteOf({ health, disabledUrls = [], lastError = "" }: DestinationStatusView): string | undefined {
  switch (health) {
    case "good":
    case "idle":
    case "disabled":
      return undefined;
    case "url_disabled":
      return "answered 410 Gone";
    case "partly_disabled":
      return `${counted(disabledUrls.length, "URL")} disabled`;
    case "failing":
    case "backing_off":
      return visibleText(lastError.split(". ")[0] ?? "", 60);
    default:
      return health satisfies never;
  }
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
