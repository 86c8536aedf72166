/** The kinds of message that a client may send. */
export const MESSAGE_KINDS = ["identify", "track", "page", "screen", "group", "alias"] as const;
export type MessageKind = (typeof MESSAGE_KINDS)[number];

/** The kinds that go out to destinations: those of {@link MessageKind} and `delete`. */
export type OutboundKind = MessageKind | "delete";

const KINDS: ReadonlySet<unknown> = new Set(MESSAGE_KINDS);

export function isMessageKind(value: unknown): value is MessageKind {
  return KINDS.has(value);
}

export type JsonObject = { [key: string]: unknown };

/** Destination name → whether the message goes there; `All` is the default for names not listed. */
export type Integrations = { [destination: string]: boolean | JsonObject };

/** What every message may carry. Times are ISO 8601 strings. */
export interface CommonFields {
  messageId?: string;
  userId?: string;
  anonymousId?: string;
  context?: JsonObject;
  integrations?: Integrations;
  /** The caller's own time of the event: kept as given when historical. */
  timestamp?: string;
  /** The client's clock at the call; made by the SDK when the caller gave no `timestamp`. */
  originalTimestamp?: string;
  /** The client's clock at the sending of the request that carried the message. */
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

/** One message as it stands on the wire. Unknown fields are allowed beside the known ones and travel on. */
export type Message =
  | IdentifyMessage
  | TrackMessage
  | PageMessage
  | ScreenMessage
  | GroupMessage
  | AliasMessage;

/** A message of which nothing is known yet but that it is a JSON object. */
export type UncheckedMessage = JsonObject;

/** The body of `POST /v1/batch`. */
export interface BatchEnvelope {
  batch: UncheckedMessage[];
  sentAt?: string;
  writeKey?: string;
  context?: JsonObject;
  integrations?: Integrations;
}
