import type { AttemptView } from "@sluice/control-api";
import type { Tone } from "../../../words/states.js";

export function attemptTone(attempt: AttemptView): Tone {
  if (attempt.status !== undefined && attempt.status >= 200 && attempt.status < 300) return "good";
  return attempt.error === undefined && attempt.status === undefined ? "good" : "bad";
}
