import type { ConfigChange } from "../../ports/documents.js";
import type { Answer, Call, LogStats, Snapshot } from "./operations.js";

/** A call, and the buffers in it that are moved on with it. */
export interface SharedCall extends Call {
  readonly transfer: readonly ArrayBuffer[];
}

/** What a thread that joined a store sends. */
export type FromMember =
  | { readonly kind: "calls"; readonly calls: readonly SharedCall[] }
  /** The change of this number is in force in the thread. */
  | { readonly kind: "followed"; readonly change: number };

/** What the thread that has the store sends. */
export type FromHost =
  /** Replaces every copy of stored data. The first message, and one after each time that the store was opened again. */
  | { readonly kind: "opened"; readonly snapshot: Snapshot }
  | { readonly kind: "news"; readonly news: News }
  | { readonly kind: "changed"; readonly number: number; readonly change: ConfigChange };

/** What happened in one turn of the event loop. The numbers hold before the calls are answered. */
export interface News {
  readonly stats?: LogStats | undefined;
  /** Sources that got a number since the last news. */
  readonly sources: Snapshot["sources"];
  readonly answers: readonly Answer[];
}
