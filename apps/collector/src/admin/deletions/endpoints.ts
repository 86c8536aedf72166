import type { Deletions } from "../../deletions/start-deletions.js";
import type { Suppressions } from "../../documents/suppressions.js";
import type { Endpoint } from "../endpoint.js";
import { liftSuppression } from "../suppressions/lift.js";
import { listSuppressions } from "../suppressions/list.js";
import { createDeletion } from "./create.js";
import { getDeletion } from "./get.js";
import { listDeletions } from "./list.js";

/** The endpoints of deletions and suppressions, for `adminRoutes`. */
export function deletionEndpoints(deletions: Deletions, suppressions: Suppressions): Endpoint[] {
  return [
    createDeletion(deletions),
    listDeletions(deletions),
    getDeletion(deletions),
    listSuppressions(suppressions),
    liftSuppression(suppressions),
  ];
}
