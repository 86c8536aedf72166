import type { Identity } from "../message/identity.js";
import type { Page, PageRequest } from "./page.js";

export interface Rejection {
  readonly sourceId: string;
  readonly receivedAtMs: number;
  readonly messageId?: string;
  /** What kind of message it was to be, by the request's path or by itself; absent for a request that was refused whole. */
  readonly type?: string;
  readonly issues: readonly { readonly code: string; readonly path: string; readonly message: string }[];
  /** The refused message's JSON, cut at 4 KB; of a request that was refused whole, its beginning, as far as it was read. */
  readonly excerpt: string;
  /** The ids that it names or may name: the deletion of one of them removes it. Absent: none that is known of. */
  readonly identities?: readonly Identity[];
  /** The same as an older version stored it, without kinds. */
  readonly users?: readonly string[];
}

/**
 * Refused messages for the debugger: the newest are kept, at most as many as the store was told (default 10,000), and none that is
 * older than messages may be.
 */
export interface RejectionLog {
  /** Not synced: a refused message may be forgotten in a power cut. Never rejects. */
  add(rejections: readonly Rejection[]): void;
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
