import type { IngestSuccess } from "@sluice/protocol";
import { CollectorError } from "../errors.js";
import type { Refusal } from "./messages/validate-messages.js";

/** The body of a 200: how many messages are on disk, which were refused and why, and how many had been received before. */
export function success(accepted: number, refusals: readonly Refusal[], duplicates = 0): IngestSuccess {
  return {
    success: true,
    accepted,
    ...(refusals.length === 0 ? {} : { rejected: refusals.map(rejectedMessage) }),
    ...(duplicates === 0 ? {} : { duplicates }),
  };
}

function rejectedMessage({ index, messageId, issues: [first] }: Refusal) {
  return {
    index,
    ...(messageId === undefined ? {} : { messageId }),
    code: first?.code ?? "not_an_object",
    message: first?.message ?? "",
  };
}

/** The error for a refused single message: a 400 with all of its issues. */
export function invalidMessage({ messageId, issues }: Refusal): CollectorError {
  return new CollectorError(
    "invalid_message",
    issues.map(({ code, message }) => `${code}: ${message}`).join("; "),
    {
      details: { issues, ...(messageId === undefined ? {} : { messageId }) },
    },
  );
}
