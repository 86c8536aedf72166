import type { Versioned } from "@sluice/event-log";
import type { ChangeResult } from "../../delivery/control/connections.js";
import type { DestinationDocument } from "../../documents/documents.js";
import { CollectorError } from "../../errors.js";

/** The destination as it is now; throws what a client has to know when it was not changed. */
export function acceptChange(result: ChangeResult): Versioned<DestinationDocument> {
  switch (result.kind) {
    case "changed":
      return result.destination;
    case "not_found":
      throw new CollectorError("not_found", "no destination has this id");
    case "invalid": {
      const [first] = result.issues;
      throw new CollectorError("invalid_request", first && `${first.path}: ${first.message}`, {
        details: { issues: result.issues },
      });
    }
    default:
      return result satisfies never;
  }
}
