import type { DestinationStatusView } from "@sluice/protocol";
import { useDestinationStatus } from "../../api/queries.js";
import { Badge } from "../../ui/badge.js";
import { Count } from "../../ui/count.js";
import { Time } from "../../ui/time.js";
import { HEALTH, healthOf } from "../../words/health.js";
import { lagNote } from "../../words/lag.js";
import { visibleText } from "../../words/visible-text.js";

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
  const words = HEALTH[healthOf(data)];
  return (
    <Badge
      tone={words.tone}
      {...(data.lastError === undefined ? {} : { title: visibleText(data.lastError) })}
    >
      {words.label}
    </Badge>
  );
}

/** Under the state, where nothing arrives: why, and since when. */
export function DestinationTrouble({ id }: { id: string }) {
  const { data } = useDestinationStatus(id);
  if (data === undefined || HEALTH[healthOf(data)].tone !== "bad") return null;
  return (
    <span className="small soft state-note">
      {troubleOf(data)}
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
function troubleOf(status: DestinationStatusView): string {
  return healthOf(status) === "url_disabled"
    ? "disabled until saved"
    : visibleText(status.lastError?.split(". ")[0] ?? "", 60);
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
