import type { ChangeResult } from "../../delivery/connections.js";
import { CollectorError } from "../../errors.js";
import type { DestinationDocument } from "../../store/documents.js";
import type { Versioned } from "../../store/store.js";

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
