import { type IssueCode, issue, type JsonObject, LIMITS, type MessageKind, validate } from "@sluice/protocol";
import type { Hooked, RunHooks } from "./before-send.js";
import { withIdsOf } from "./call-context.js";
import { type MessageDefaults, normalize, type Stamp } from "./normalize.js";

/** Why a call's message was not accepted: a code of the validator or one of the SDK's own. */
export type RefusalReason =
  | IssueCode
  /** A `beforeSend` function threw, or returned neither a message nor `null`. */
  | "before_send_failed"
  /** The message has a cycle, or a getter or `toJSON` that throws. */
  | "not_serializable"
  /** The queue holds `maxQueueSize` messages or `maxQueueBytes` bytes. */
  | "queue_full"
  /** `close()` was called. */
  | "closed";

/** A call's message, ready to be queued; or its functions have returned a promise, and `bytes` is its size before them. */
export type Accepted =
  | Settled
  | {
      readonly kind: "hooking";
      readonly messageId: string;
      readonly bytes: number;
      /** Never rejects. */
      readonly done: Promise<Settled>;
    };

/** A call's message, ready to be sent, or the reason why it is not. */
export type Settled =
  | { readonly kind: "ready"; readonly messageId: string; readonly json: string; readonly bytes: number }
  /** A `beforeSend` function returned null. */
  | { readonly kind: "dropped"; readonly messageId: string }
  | {
      readonly kind: "refused";
      readonly messageId: string;
      readonly reason: Exclude<RefusalReason, "queue_full">;
      readonly text: string;
      readonly json?: string;
    };

const NO_DEFAULTS: MessageDefaults = {};

/** Normalizes, checks and serializes a caller's argument. Never throws, whatever the argument is. */
export function accept(
  kind: MessageKind,
  input: unknown,
  stamp: Stamp,
  defaults: MessageDefaults,
  runHooks?: RunHooks | undefined,
): Accepted {
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
    const call = defaults.ids ? withIdsOf(defaults.ids, input) : input;
    const message = normalize(kind, call, stamp, defaults);
    if (typeof message.messageId === "string") messageId = message.messageId;
    const [first] = validate(message);
    if (first) return { kind: "refused", messageId, reason: first.code, text: first.message };
    if (!runHooks) return measured(message, messageId);

    const json = serialize(message);
    const hooked = runHooks(json);
    const finish = (result: Hooked): Settled => afterHooks(kind, result, { ...stamp, messageId });
    if (!(hooked instanceof Promise)) return finish(hooked);
    return { kind: "hooking", messageId, bytes: byteLength(json), done: hooked.then(finish) };
  } catch {
    return notSerializable(messageId);
  }
}

/** What the functions returned, checked as a call's message is. Never throws. */
function afterHooks(kind: MessageKind, hooked: Hooked, stamp: Stamp): Settled {
  const { messageId } = stamp;
  try {
    if (hooked.kind === "dropped") return { kind: "dropped", messageId };
    // Without its JSON: the function may have been about to remove what must not be shown.
    if (hooked.kind === "failed")
      return { kind: "refused", messageId, reason: "before_send_failed", text: hooked.text };
    const changed = normalize(kind, hooked.message, stamp, NO_DEFAULTS);
    const [fault] = validate(changed);
    if (!fault) return measured(changed, messageId);
    return { kind: "refused", messageId, reason: fault.code, text: `${fault.message}, after beforeSend` };
  } catch {
    return notSerializable(messageId);
  }
}

function notSerializable(messageId: string): Settled {
  return {
    kind: "refused",
    messageId,
    reason: "not_serializable",
    text: "The message cannot be made into JSON",
  };
}

/** Serializes a valid message. */
function measured(message: JsonObject, messageId: string): Settled {
  const json = serialize(message);
  const bytes = byteLength(json);
  if (bytes <= LIMITS.messageBytes) return { kind: "ready", messageId, json, bytes };
  const { code, message: text } = issue("message_too_large", "");
  return { kind: "refused", messageId, reason: code, text: `${text}; this one has ${bytes}`, json };
}

/** The caller's own message id, for messages that are refused without being read. */
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

/**
 * Makes the JSON that the SDK sends. Like `JSON.stringify`, it turns a Date into ISO 8601, NaN and ±Infinity into null, and leaves out
 * undefined; BigInts and decimal objects become strings. Throws for a cycle, and what a getter or `toJSON` of the value throws.
 *
 * `JSON.stringify` with a replacer takes about four times as long as without, so a replacer is used only for values that need it. A
 * BigInt makes the plain call throw. A decimal object (decimal.js, big.js, bignumber.js) without `toJSON` leaves a list of digits
 * and its sign, the key `s`, in the text. Looking for the bracket first costs a twentieth of looking for the key.
 */
export function serialize(value: object): string {
  let text: string;
  try {
    text = JSON.stringify(value);
  } catch {
    return JSON.stringify(value, withoutLoss);
  }
  return text.includes("[") && text.includes('"s":') ? JSON.stringify(value, withoutLoss) : text;
}

function withoutLoss(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  return isDecimal(value) ? String(value) : value;
}

/** The three libraries keep a number as a sign `s`, an exponent `e`, and digits `c` (big.js, bignumber.js) or `d` (decimal.js). */
function isDecimal(value: unknown): value is object {
  if (typeof value !== "object" || value === null || !("s" in value) || !("e" in value)) return false;
  const digits = "d" in value ? value.d : "c" in value ? value.c : undefined;
  // The method distinguishes a decimal from an application's own `{s, e, c}`.
  return Array.isArray(digits) && "toFixed" in value && typeof value.toFixed === "function";
}
