import type { JsonObject, MessageKind } from "@sluice/protocol";
import { reasonOf } from "../errors/reason-of.js";

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

/** Changes a message before it is queued, or drops it by returning `null`. Must be synchronous. */
export type BeforeSend = (message: OutgoingMessage) => OutgoingMessage | null;

/** What the functions made of a message. */
export type Hooked =
  | { readonly kind: "kept"; readonly message: object }
  | { readonly kind: "dropped" }
  /** A function threw, or returned something else than a message or `null`. */
  | { readonly kind: "failed"; readonly text: string };

/** Passes a message, as JSON, through the functions in order. Never throws. */
export type RunHooks = (json: string) => Hooked;

export function hooksOf(hooks: readonly BeforeSend[]): RunHooks | undefined {
  if (hooks.length === 0) return undefined;
  let isRunning = false;
  return (json) => {
    // Otherwise a function that tracks what it sees would call itself without end.
    if (isRunning) return { kind: "failed", text: "A beforeSend function must not call its own client" };
    isRunning = true;
    try {
      return runInOrder(hooks, json);
    } finally {
      isRunning = false;
    }
  };
}

function runInOrder(hooks: readonly BeforeSend[], json: string): Hooked {
  let message = JSON.parse(json) as OutgoingMessage;
  for (const [index, hook] of hooks.entries()) {
    const name = hooks.length === 1 ? "beforeSend" : `beforeSend[${index}]`;
    const { type, messageId } = message;
    try {
      const returned: unknown = hook(message);
      if (returned === null) return { kind: "dropped" };
      const fault = faultOf(returned, type, messageId);
      if (fault !== undefined) return { kind: "failed", text: `${name} ${fault}` };
      message = returned as OutgoingMessage;
    } catch (error) {
      return { kind: "failed", text: `${name} threw ${reasonOf(error)}` };
    }
  }
  return { kind: "kept", message };
}

function faultOf(returned: unknown, type: MessageKind, messageId: string): string | undefined {
  const rule = "return the message, or null to drop it";
  if (typeof returned !== "object" || returned === null) return `returned ${shown(returned)}: ${rule}`;
  if (Array.isArray(returned)) return `returned an array: ${rule}`;
  const { then } = returned as PromiseLike<unknown>;
  if (typeof then === "function") {
    // A rejection that nobody handles would end the process.
    then.call(
      returned,
      () => {},
      () => {},
    );
    return `returned a promise: it must be synchronous, and ${rule}`;
  }
  const message = returned as OutgoingMessage;
  if (message.type !== type || message.messageId !== messageId)
    return "changed `type` or `messageId`: both must stay as they are";
  return undefined;
}

function shown(value: unknown): string {
  return value === undefined ? "undefined" : `a ${typeof value}`;
}
