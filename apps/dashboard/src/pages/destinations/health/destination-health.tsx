import type { DestinationStatusView } from "@sluice/protocol";
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

/** Under the state, where not all arrives: why, and since when. */
export function HealthNote({ id }: { id: string }) {
  const { data } = useDestinationStatus(id);
  if (data === undefined) return null;
  const trouble = troubleOf(data);
  if (trouble === undefined) return null;
  return (
    <span className="small soft state-note">
      {trouble}
      {data.failingSince && (
        <>
          {" "}
          · <Time at={data.failingSince} />
        </>
      )}
    </span>
  );
}

/** What happened, without the advice after it. */
function troubleOf({ health, disabledUrls = [], lastError = "" }: DestinationStatusView): string | undefined {
  switch (health) {
    case "good":
    case "idle":
    case "disabled":
      return undefined;
    case "url_disabled":
      return "disabled until saved";
    case "partly_disabled":
      return `${counted(disabledUrls.length, "URL")} disabled until saved`;
    case "failing":
    case "backing_off":
      return visibleText(lastError.split(". ")[0] ?? "", 60);
    default:
      return health satisfies never;
  }
}

/** How many messages wait for it now, and on hover what they are. */
export function BacklogCount({ id }: { id: string }) {
  const { data } = useDestinationStatus(id);
  if (data === undefined) return <>…</>;
  return (
    <span title={backlogNote(data)}>
      <Count value={data.waiting} />
    </span>
  );
}
