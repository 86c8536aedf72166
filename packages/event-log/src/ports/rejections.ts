import type { Identity } from "../message/identity.js";
import type { Page, PageRequest } from "./documents.js";

export interface Rejection {
  readonly sourceId: string;
  readonly receivedAtMs: number;
  readonly messageId?: string;
  /** The kind of message, from the request's path or the message itself. Absent if the whole request was refused. */
  readonly type?: string;
  readonly issues: readonly { readonly code: string; readonly path: string; readonly message: string }[];
  /** The first 4 KB of the message's JSON, or of the request if it was refused as a whole. */
  readonly excerpt: string;
  /** Ids that it names or may name: deleting one of them removes it. Absent: no known id. */
  readonly identities?: readonly Identity[];
}

/**
 * Refused messages for the debugger. The store keeps the newest (default: 10,000), and none that is older than its messages may be.
 */
export interface RejectionLog {
  /** Best effort: some are left out under load, and a power cut may lose the latest. Never throws. */
  add(rejections: readonly Rejection[]): void;
  /** Newest first. Rejects with a `StoreError`: `storage_unavailable`, or `invalid_request` for a bad cursor. */
  find(
    query: {
      readonly messageId?: string;
      readonly sourceId?: string;
      readonly fromMs?: number;
      readonly toMs?: number;
    },
    page: PageRequest,
  ): Promise<Page<Rejection>>;
}
