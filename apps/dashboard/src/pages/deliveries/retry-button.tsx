import type { ReactNode } from "react";
import { Link } from "wouter";
import { useWhatToEnable } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { Button } from "../../ui/controls/button.js";

/** Retries what failed at a destination. A link to the cure instead if a retry cannot help: nothing is sent to disabled URLs and destinations. */
export function RetryButton({
  destinationId,
  busy,
  label,
  onRetry,
  children = "Retry",
}: {
  destinationId: string;
  busy?: boolean;
  /** For screen readers, where many buttons are the same. */
  label?: string;
  onRetry: () => void;
  children?: ReactNode;
}) {
  const toEnable = useWhatToEnable()(destinationId);
  if (toEnable !== undefined)
    return (
      <Link className="small no-break" href={addresses.destination(destinationId)}>
        Enable {toEnable}
      </Link>
    );
  return (
    <Button size="small" icon="replay" busy={busy ?? false} aria-label={label} onClick={onRetry}>
      {children}
    </Button>
  );
}
