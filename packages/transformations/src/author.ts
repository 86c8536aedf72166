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

/**
 * The message that a transformation gets: one of the calls, to be told apart by `type`. With the type of a tracking plan that `sluice types`
 * makes, messages are those of the plan: `Message<Plan>`.
 */
export type Message<Plan = unknown> = Received &
  (
    | Planned<Plan, "identify", "traits", IdentifyMessage>
    | Named<Plan, "track", "event", TrackMessage>
    | Named<Plan, "page", "name", PageMessage>
    | Named<Plan, "screen", "name", ScreenMessage>
    | Planned<Plan, "group", "traits", GroupMessage>
    | AliasMessage
  );

/** A kind of message whose fields a plan may name. */
type Planned<Plan, Kind extends string, Field extends string, Base> = Plan extends {
  readonly [K in Kind]: infer Fields;
}
  ? Omit<Base, Field> & { [F in Field]: AsSent<Fields> }
  : Base;

/** A kind of message whose names a plan may list, with the properties of each. */
type Named<Plan, Kind extends string, Label extends string, Base> = Plan extends {
  readonly [K in Kind]: infer Names;
}
  ? {
      [Name in keyof Names & string]: Omit<Base, Label | "properties"> & { [L in Label]: Name } & {
        properties: AsSent<Names[Name]>;
      };
    }[keyof Names & string]
  : Base;

/** The SDK takes a `Date` where a message has a text. */
type AsSent<Value> = Value extends Date
  ? never
  : Value extends object
    ? { [Key in keyof Value]: AsSent<Value[Key]> }
    : Value;

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
