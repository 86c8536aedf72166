import type { MessagePort } from "node:worker_threads";
import type { ConfigChange } from "../../ports/documents.js";
import type { TrustedTime } from "../../rules/trusted-time.js";
import type { Answer, Call, Snapshot, SourceName } from "./operations.js";

/** A call, and the buffers in it that are moved on with it. */
export interface SharedCall extends Call {
  readonly transfer: readonly ArrayBuffer[];
}

/** What a thread that joined a store sends to the thread that has it. */
export type FromMember =
  /** Those that do not go to the store's thread. */
  | { readonly kind: "calls"; readonly calls: readonly SharedCall[] }
  /** The change of this number is in force in the thread. */
  | { readonly kind: "followed"; readonly change: number };

/** What the thread that has the store sends. */
export type FromHost =
  | Opened
  /** `sources`: those that got a number since the last time. They are known before the calls are answered. */
  | { readonly kind: "answers"; readonly answers: readonly Answer[]; readonly sources: readonly SourceName[] }
  | { readonly kind: "changed"; readonly number: number; readonly change: ConfigChange };

/** Replaces every copy of stored data. The first message, and one after each time that the store was opened again. */
export interface Opened {
  readonly kind: "opened";
  readonly snapshot: Snapshot;
  /** The last change of a document. */
  readonly change: number;
  readonly time: TrustedTime;
  /** Leads to the store's thread. Absent: calls go to the thread that has the store. */
  readonly calls?: MessagePort;
}
