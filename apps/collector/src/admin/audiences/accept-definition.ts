import type { DefinitionChange, DefinitionIssue, Removal } from "@sluice/audiences";
import type { Versioned } from "@sluice/event-log";
import { CollectorError } from "../../errors.js";

/** The definition as it is now; throws what a client has to know when it was not changed. */
export function acceptDefinition<Document>(change: DefinitionChange<Document>): Versioned<Document> {
  switch (change.kind) {
    case "changed":
      return change.definition;
    case "invalid":
      throw invalidDefinition(change.issues);
    case "key_taken":
      throw new CollectorError("conflict", `the key ${change.key} belongs to ${change.by}`, {
        details: { key: change.key, id: change.by },
      });
    default:
      return change satisfies never;
  }
}

export function invalidDefinition(issues: readonly DefinitionIssue[]): CollectorError {
  const [first] = issues;
  return new CollectorError("invalid_request", first && `${first.path}: ${first.message}`, {
    details: { issues },
  });
}

/** Throws when it was not removed. */
export function acceptRemoval(removal: Removal): void {
  switch (removal.kind) {
    case "removed":
      return;
    case "not_found":
      throw new CollectorError("not_found", "nothing has this id");
    case "named":
      throw new CollectorError("conflict", `other audiences depend on it: ${removal.by.join(", ")}`, {
        details: { audienceIds: removal.by },
      });
    default:
      removal satisfies never;
  }
}
