import type { TransformationResult } from "@sluice/control-api";
import { Badge } from "../../../ui/data/badge.js";
import type { Tone } from "../../../words/states.js";

type Kind = TransformationResult["result"];

/** What became of a message, in the order in which counts are shown. */
export const RESULTS: Readonly<Record<Kind, { readonly label: string; readonly tone: Tone }>> = {
  changed: { label: "Changed", tone: "accent" },
  same: { label: "Unchanged", tone: "quiet" },
  dropped: { label: "Dropped", tone: "wait" },
  failed: { label: "Failed", tone: "bad" },
};

export function ResultBadge({ result: { result, after = [] } }: { result: TransformationResult }) {
  const { label, tone } = RESULTS[result];
  return <Badge tone={tone}>{after.length > 1 ? `${after.length} messages` : label}</Badge>;
}
