/** The kinds of message that a client can send. */
export const MESSAGE_KINDS = ["identify", "track", "page", "screen", "group", "alias"] as const;
export type MessageKind = (typeof MESSAGE_KINDS)[number];

/** The kinds of message that destinations receive: those of {@link MessageKind} and `delete`. */
export type OutboundKind = MessageKind | "delete";

const KINDS: ReadonlySet<unknown> = new Set(MESSAGE_KINDS);

export function isMessageKind(value: unknown): value is MessageKind {
  return KINDS.has(value);
}

export type JsonObject = { [key: string]: unknown };

/** Whether the message goes to a destination, by the destination's name. `All` is the default for names not listed. */
export type Integrations = { [destination: string]: boolean | JsonObject };

/** The fields that every message can have. Times are ISO 8601 strings. */
export interface CommonFields {
  messageId?: string;
  userId?: string;
  anonymousId?: string;
  context?: JsonObject;
  integrations?: Integrations;
  /** The time of the event as the caller gave it. Never corrected if it is historical. */
  timestamp?: string;
  /** The client's clock at the call; set by the SDK if the caller gave no `timestamp`. */
  originalTimestamp?: string;
  /** The client's clock when it sent the request. */
  sentAt?: string;
}

export interface IdentifyMessage extends CommonFields {
  type: "identify";
  traits?: JsonObject;
}
export interface TrackMessage extends CommonFields {
  type: "track";
  event: string;
  properties?: JsonObject;
}
export interface PageMessage extends CommonFields {
  type: "page";
  name?: string;
  category?: string;
  properties?: JsonObject;
}
export interface ScreenMessage extends CommonFields {
  type: "screen";
  name?: string;
  category?: string;
  properties?: JsonObject;
}
export interface GroupMessage extends CommonFields {
  type: "group";
  groupId: string;
  traits?: JsonObject;
}
export interface AliasMessage extends CommonFields {
  type: "alias";
  userId: string;
  previousId: string;
}

/** A message on the wire. Unknown fields are allowed and passed on. */
export type Message =
  | IdentifyMessage
  | TrackMessage
  | PageMessage
  | ScreenMessage
  | GroupMessage
  | AliasMessage;

/** A JSON object that was not validated yet. */
export type UncheckedMessage = JsonObject;

/** The body of `POST /v1/batch`. */
export interface BatchEnvelope {
  batch: UncheckedMessage[];
  sentAt?: string;
  writeKey?: string;
  context?: JsonObject;
  integrations?: Integrations;
}
