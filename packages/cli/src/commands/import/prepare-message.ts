import { createHash } from "node:crypto";
import {
  coerce,
  type Issue,
  isPlainObject,
  issue,
  LIMITS,
  remarks,
  type UncheckedMessage,
  validate,
} from "@sluice/protocol";
import { namesDestination } from "./reading/count-records.js";
import type { FileRecord } from "./reading/read-records.js";

/** A record as the JSON to send, or the reasons why it cannot be sent. */
export type Prepared =
  | {
      readonly ok: true;
      readonly line: number;
      readonly json: string;
      readonly messageId: string;
      /** Codes of problems that do not stop it. */
      readonly notes: readonly string[];
      /** Its `integrations` ask for a destination by name. */
      readonly isNaming: boolean;
    }
  | {
      readonly ok: false;
      readonly line: number;
      readonly raw: string;
      readonly issues: readonly RejectIssue[];
    };

export interface RejectIssue {
  readonly code: string;
  readonly path: string;
  readonly message: string;
}

/**
 * Validates a record like the collector does. A message without an id gets one from its line number and text, so that
 * the collector recognizes it if the file is imported again.
 */
export function prepareMessage({ line, raw, value }: FileRecord): Prepared {
  const refuse = (issues: readonly (Issue | RejectIssue)[]): Prepared => ({ ok: false, line, raw, issues });
  if (!value.ok) return refuse([{ code: "malformed_json", path: "", message: value.reason }]);
  if (!isPlainObject(value.message)) return refuse([issue("not_an_object", "")]);
  const message: UncheckedMessage = coerce({ ...value.message });
  const issues = validate(message);
  if (issues.length > 0) return refuse(issues);
  const messageId =
    typeof message.messageId === "string" && message.messageId !== "" ? message.messageId : idOf(line, raw);
  const json = JSON.stringify({ ...message, messageId });
  if (Buffer.byteLength(json) > LIMITS.messageBytes) return refuse([issue("message_too_large", "")]);
  const notes = remarks(message).map(({ code }) => code);
  return { ok: true, line, json, messageId, notes, isNaming: namesDestination(message) };
}

function idOf(line: number, raw: string): string {
  return `import-${createHash("sha256").update(`${line}\n${raw}`).digest("hex").slice(0, 32)}`;
}
