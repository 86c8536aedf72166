import type {
  AliasMessage,
  GroupMessage,
  IdentifyMessage,
  PageMessage,
  ScreenMessage,
  TrackMessage,
} from "@sluice/protocol";

/** What the collector adds to a message when it arrives. They cannot be changed. */
interface Received {
  readonly messageId: string;
  readonly receivedAt: string;
}

/** The message that a transformation gets: one of the calls, to be told apart by `type`. */
export type Message = (
  | IdentifyMessage
  | TrackMessage
  | PageMessage
  | ScreenMessage
  | GroupMessage
  | AliasMessage
) &
  Received;

export interface Log {
  (...values: unknown[]): void;
  info(...values: unknown[]): void;
  warn(...values: unknown[]): void;
  error(...values: unknown[]): void;
}

/** The second argument of a transformation. */
export interface Context {
  readonly secrets: { readonly [name: string]: string };
  /** Lines for the trace of the message: at most 20, of 1,024 characters. */
  readonly log: Log;
  /** The SHA-256 of a text as 64 hexadecimal digits, or its HMAC if there is a key. */
  sha256(text: string, key?: string): string;
}

/** What a transformation may return: the message, changed or not; null to drop it; or several messages. */
export type Result = Message | readonly Message[] | null;

/** The default export of a transformation. */
export type Transform = (message: Message, context: Context) => Result | Promise<Result>;
