import { issue, LIMITS, type MessageKind, validate } from "@sluice/protocol";
import type { RefusalReason } from "../reporting/reports.js";
import { type MessageDefaults, normalize, type Stamp } from "./normalize.js";
import { serialize } from "./serialize.js";

/** A call's message, ready to be queued, or why it cannot be. */
export type Accepted =
  | { readonly kind: "ready"; readonly messageId: string; readonly json: string; readonly bytes: number }
  | {
      readonly kind: "refused";
      readonly messageId: string;
      readonly reason: RefusalReason;
      readonly text: string;
      readonly json?: string;
    };

/** Normalizes, checks and serializes what a caller passed. Whatever that is, nothing is thrown. */
export function accept(kind: MessageKind, input: unknown, stamp: Stamp, defaults: MessageDefaults): Accepted {
  let { messageId } = stamp;
  try {
    if (typeof input !== "object" || input === null || Array.isArray(input)) {
      return {
        kind: "refused",
        messageId,
        reason: "not_an_object",
        text: issue("not_an_object", "").message,
      };
    }
    const message = normalize(kind, input, stamp, defaults);
    if (typeof message.messageId === "string") messageId = message.messageId;
    const [first] = validate(message);
    if (first) return { kind: "refused", messageId, reason: first.code, text: first.message };
    const json = serialize(message);
    const bytes = byteLength(json);
    if (bytes > LIMITS.messageBytes) {
      const { code, message: text } = issue("message_too_large", "");
      return { kind: "refused", messageId, reason: code, text: `${text}; this one has ${bytes}`, json };
    }
    return { kind: "ready", messageId, json, bytes };
  } catch {
    return {
      kind: "refused",
      messageId,
      reason: "not_serializable",
      text: "The message cannot be made into JSON",
    };
  }
}

/** The id that a caller gave a message which is refused unread. */
export function givenId(input: unknown): string | undefined {
  try {
    const id = (input as { messageId?: unknown } | null | undefined)?.messageId;
    if (typeof id === "string" && id !== "") return id;
    return typeof id === "number" ? String(id) : undefined;
  } catch {
    return undefined;
  }
}

const byteLength: (text: string) => number =
  typeof Buffer === "undefined"
    ? (text) => new TextEncoder().encode(text).length
    : (text) => Buffer.byteLength(text);
