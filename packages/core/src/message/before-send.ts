import type { JsonObject, MessageKind } from "@sluice/protocol";
import { reasonOf } from "../errors.js";

/**
 * A message as a `beforeSend` function gets it: plain JSON data, as it will be sent. It is a copy, so the function may change it without
 * changing the objects of the call.
 */
export interface OutgoingMessage {
  readonly type: MessageKind;
  readonly messageId: string;
  userId?: string | undefined;
  anonymousId?: string | undefined;
  /** The event of `track`. */
  event?: string | undefined;
  /** The name and the category of `page` and `screen`. */
  name?: string | undefined;
  category?: string | undefined;
  groupId?: string | undefined;
  previousId?: string | undefined;
  /** The data of `track`, `page` and `screen`. */
  properties?: JsonObject | undefined;
  /** The data of `identify` and `group`. */
  traits?: JsonObject | undefined;
  context?: JsonObject | undefined;
  integrations?: JsonObject | undefined;
  /** The time that the call gave, if it did. */
  timestamp?: string | undefined;
  /** The time of the call, if the call gave no `timestamp`. */
  originalTimestamp?: string | undefined;
  [field: string]: unknown;
}

/** Changes a message before it is sent, or drops it by returning `null`. May return a promise, which has `beforeSendTimeoutMs`. */
export type BeforeSend = (
  message: OutgoingMessage,
) => OutgoingMessage | null | PromiseLike<OutgoingMessage | null>;

/** What the functions made of a message. */
export type Hooked =
  | { readonly kind: "kept"; readonly message: object }
  | { readonly kind: "dropped" }
  /** A function threw, or returned something else than a message or `null`. */
  | { readonly kind: "failed"; readonly text: string };

/** Passes a message, as JSON, through the functions in order. Never throws or rejects. A promise only if a function returned one. */
export type RunHooks = (json: string) => Hooked | Promise<Hooked>;

export function hooksOf(hooks: readonly BeforeSend[]): RunHooks | undefined {
  if (hooks.length === 0) return undefined;
  let isRunning = false;
  return (json) => {
    // Otherwise a function that tracks what it sees would call itself without end.
    if (isRunning) return { kind: "failed", text: "A beforeSend function must not call its own client" };
    isRunning = true;
    try {
      return runInOrder(hooks, 0, JSON.parse(json) as OutgoingMessage);
    } finally {
      isRunning = false;
    }
  };
}

/** Runs the functions from the one at `first` on. */
function runInOrder(
  hooks: readonly BeforeSend[],
  first: number,
  given: OutgoingMessage,
): Hooked | Promise<Hooked> {
  let message = given;
  for (let index = first; index < hooks.length; index++) {
    const name = hooks.length === 1 ? "beforeSend" : `beforeSend[${index}]`;
    const { type, messageId } = message;
    const threw = (error: unknown): Hooked => ({ kind: "failed", text: `${name} threw ${reasonOf(error)}` });
    const judge = (returned: unknown): Hooked => {
      if (returned === null) return { kind: "dropped" };
      const fault = faultOf(returned, type, messageId);
      if (fault !== undefined) return { kind: "failed", text: `${name} ${fault}` };
      return { kind: "kept", message: returned as OutgoingMessage };
    };
    try {
      const returned: unknown = hooks[index]?.(message);
      if (isThenable(returned))
        return Promise.resolve(returned)
          .then((late) => goOn(hooks, index + 1, judge(late)))
          .catch(threw);
      const result = judge(returned);
      if (result.kind !== "kept") return result;
      message = result.message as OutgoingMessage;
    } catch (error) {
      return threw(error);
    }
  }
  return { kind: "kept", message };
}

function goOn(hooks: readonly BeforeSend[], next: number, result: Hooked): Hooked | Promise<Hooked> {
  return result.kind === "kept" ? runInOrder(hooks, next, result.message as OutgoingMessage) : result;
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function"
  );
}

function faultOf(returned: unknown, type: MessageKind, messageId: string): string | undefined {
  const rule = "return the message, or null to drop it";
  if (typeof returned !== "object" || returned === null) return `returned ${shown(returned)}: ${rule}`;
  if (Array.isArray(returned)) return `returned an array: ${rule}`;
  const message = returned as OutgoingMessage;
  if (message.type !== type || message.messageId !== messageId)
    return "changed `type` or `messageId`: both must stay as they are";
  return undefined;
}

function shown(value: unknown): string {
  return value === undefined ? "undefined" : `a ${typeof value}`;
}
