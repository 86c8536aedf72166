/** Remembers which messages were handled. Delivery is at least once, so a message may arrive twice. */
export interface MessageDedupe {
  has(messageId: string): boolean | Promise<boolean>;
  /** Called after the message was handled, so that a failed message is handled again when it arrives again. */
  add(messageId: string): void | Promise<void>;
}

export interface MemoryDedupeOptions {
  /** The most ids remembered. The oldest is forgotten first. Default: 10_000. */
  readonly maxIds?: number | undefined;
}

/**
 * Remembers ids in this process. If your receiver runs in several processes, implement `MessageDedupe` over a store that they share, ideally
 * in the transaction that stores what the message changed.
 */
export function memoryDedupe({ maxIds = 10_000 }: MemoryDedupeOptions = {}): MessageDedupe {
  if (!Number.isInteger(maxIds) || maxIds < 1) {
    throw new RangeError(`Option \`maxIds\` must be an integer >= 1, got ${maxIds}`);
  }
  // A Set keeps the order in which ids were added.
  const ids = new Set<string>();
  return {
    has: (messageId) => ids.has(messageId),
    add: (messageId) => {
      ids.delete(messageId);
      ids.add(messageId);
      for (const oldest of ids) {
        if (ids.size <= maxIds) break;
        ids.delete(oldest);
      }
    },
  };
}

/** JSON data of a message. */
export type Data = { [key: string]: unknown };

/** Optional fields of every body. Bodies with `payload: "classic"` do not have them. */
interface CommonFields {
  messageId?: string;
  anonymousId?: string;
  context?: Data;
  integrations?: Data;
  /** All other fields of the message. */
  [field: string]: unknown;
}

interface Timed {
  /** ISO 8601, UTC, milliseconds. */
  timestamp: string;
}

export interface TrackPayload extends CommonFields, Timed {
  version: number;
  type: "track";
  /** Absent if the message has only an `anonymousId`. */
  userId?: string;
  event: string;
  properties: Data;
}
export interface IdentifyPayload extends CommonFields, Timed {
  version: number;
  type: "identify";
  userId?: string;
  traits: Data;
}
export interface PagePayload extends CommonFields, Timed {
  version: number;
  type: "page";
  userId?: string;
  name?: string;
  category?: string;
  properties: Data;
}
export interface ScreenPayload extends CommonFields, Timed {
  version: number;
  type: "screen";
  userId?: string;
  name?: string;
  category?: string;
}
export interface GroupPayload extends CommonFields, Timed {
  version: number;
  type: "group";
  groupId: string;
  userId?: string;
  traits: Data;
}
export interface AliasPayload extends CommonFields, Timed {
  version: number;
  type: "alias";
  "Previous ID": string;
  "User ID": string;
}
/** A request to delete the data of a user, or of a visitor who was never identified. It has one of the two ids. */
export interface DeletePayload extends Timed {
  type: "delete";
  userId?: string;
  anonymousId?: string;
}

/** A message in the body of a webhook request. `type` says which kind it is. */
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

/** Parses a body with one message. Returns undefined if it has none. Call it only with verified bodies, because it checks only `type`. */
export function parsePayload(rawBody: string): WebhookPayload | undefined {
  const parsed = parseJson(rawBody);
  return isPayload(parsed) ? parsed : undefined;
}

/** The messages of a body. */
export interface ParsedPayloads {
  /** At least one. */
  readonly messages: readonly WebhookPayload[];
  /** It is a batch, maybe of one message. */
  readonly isBatch: boolean;
}

/**
 * Parses a body with one message, or with several, as a destination with `batch` sends: `{"messages": [...]}`. Returns undefined if it is
 * neither. Call it only with verified bodies, because it checks only `type`.
 */
export function parsePayloads(rawBody: string): ParsedPayloads | undefined {
  const parsed = parseJson(rawBody);
  if (isPayload(parsed)) return { messages: [parsed], isBatch: false };
  const { messages } = (parsed ?? {}) as { readonly messages?: unknown };
  const isBatch = Array.isArray(messages) && messages.length > 0 && messages.every(isPayload);
  return isBatch ? { messages, isBatch } : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isPayload(value: unknown): value is WebhookPayload {
  return typeof value === "object" && value !== null && KINDS.has((value as { type?: unknown }).type);
}
