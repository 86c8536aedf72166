import type { AudienceView } from "@sluice/control-api";
import type { ConditionIssue } from "@sluice/protocol";
import type { DraftNode } from "./condition-draft.js";

/** What every node of the condition builder needs. */
export interface BuilderContext {
  readonly audiences: readonly AudienceView[];
  /** Id of the `datalist` with the names of events. */
  readonly eventListId: string;
  readonly issues: readonly ConditionIssue[];
  /** Replaces a node; with undefined, removes it. */
  readonly onChange: (node: number, change: DraftNode | undefined) => void;
}
