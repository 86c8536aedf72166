import { formatTime } from "@sluice/protocol";
import { oneLine } from "../destinations/one-line.js";
import type { Incident, Notice } from "./incidents/incident.js";

export interface NoticeText {
  /** One line without control characters. */
  readonly title: string;
  readonly text: string;
}

const MAX_TITLE = 150;
const MAX_DETAIL = 2_000;

/** Plain texts of a notification. Names come from users, so nothing in them may begin a new line of the title. */
export function noticeText({ event, incident }: Notice): NoticeText {
  const what = oneLine(incident.title, MAX_TITLE);
  const title = event === "opened" ? what : `Resolved: ${what}`;
  return { title, text: `${title}\n\n${oneLine(incident.detail, MAX_DETAIL)}\n\n${times(incident)}\n` };
}

function times({ sinceMs, resolvedAtMs }: Incident): string {
  const since = `Since: ${formatTime(sinceMs)}`;
  return resolvedAtMs === undefined ? since : `${since}\nResolved: ${formatTime(resolvedAtMs)}`;
}
