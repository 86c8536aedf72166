/** JSON data of a message. */
export type Data = { [key: string]: unknown };

/** What every body may carry beside its own fields; with `payload: "classic"` it does not. */
interface Carried {
  messageId?: string;
  anonymousId?: string;
  context?: Data;
  integrations?: Data;
  /** Whatever else the message carried travels on. */
  [field: string]: unknown;
}

interface Timed {
  /** ISO 8601, UTC, milliseconds. */
  timestamp: string;
}

export interface TrackPayload extends Carried, Timed {
  version: number;
  type: "track";
  /** Absent when the message named its user by `anonymousId` only. */
  userId?: string;
  event: string;
  properties: Data;
}
export interface IdentifyPayload extends Carried, Timed {
  version: number;
  type: "identify";
  userId?: string;
  traits: Data;
}
export interface PagePayload extends Carried, Timed {
  version: number;
  type: "page";
  userId?: string;
  name?: string;
  category?: string;
  properties: Data;
}
export interface ScreenPayload extends Carried, Timed {
  version: number;
  type: "screen";
  userId?: string;
  name?: string;
  category?: string;
}
export interface GroupPayload extends Carried, Timed {
  version: number;
  type: "group";
  groupId: string;
  userId?: string;
  traits: Data;
}
export interface AliasPayload extends Carried, Timed {
  version: number;
  type: "alias";
  "Previous ID": string;
  "User ID": string;
}
/** A deletion request: forget this user, or this visitor who was never identified. It has one of the two ids. */
export interface DeletePayload extends Timed {
  type: "delete";
  userId?: string;
  anonymousId?: string;
}

/** The body of a webhook request; `type` tells which. */
export type WebhookPayload =
  | TrackPayload
  | IdentifyPayload
  | PagePayload
  | ScreenPayload
  | GroupPayload
  | AliasPayload
  | DeletePayload;

const KINDS: ReadonlySet<unknown> = new Set<WebhookPayload["type"]>([
  "track",
  "identify",
  "page",
  "screen",
  "group",
  "alias",
  "delete",
]);

/** The payload that a body holds; undefined when it is none. To be called with verified bodies: only the kind is looked at. */
export function parsePayload(rawBody: string): WebhookPayload | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(rawBody);
  } catch {
    return undefined;
  }
  const isPayload =
    typeof parsed === "object" && parsed !== null && KINDS.has((parsed as { type?: unknown }).type);
  return isPayload ? (parsed as WebhookPayload) : undefined;
}
