import type { JsonObject } from "@sluice/protocol";

export type TransformLanguage = "typescript" | "javascript";

/** One immutable version of a transformation. */
export interface TransformCode {
  /** Such as `tr_ab12@3`. Equal keys mean equal code and secrets. */
  readonly key: string;
  readonly code: string;
  readonly language: TransformLanguage;
  readonly secrets: { readonly [name: string]: string };
}

/** What a transformation cannot change: the log, traces and receivers know the message by it. */
export interface FixedFields {
  readonly messageId: string;
  readonly type: string;
  readonly receivedAt: string;
}

export interface TransformItem {
  /** As the message has them. */
  readonly fixed: FixedFields;
  /** The message's own time, which is what `Date.now()` answers in the function. */
  readonly timeMs: number;
  /** The message as `JSON.stringify` writes it. */
  readonly json: string;
}

/** Why a message has no result. `docs/guide/transformations.md` has a row for each. */
export const FAILURE_CODES = [
  /** The function threw, or its promise was rejected. */
  "exception",
  /** It returned something that is no message. */
  "bad_result",
  /** A result is larger than a message may be, or there are too many. */
  "too_large",
  /** The deadline was over. */
  "timeout",
  "memory",
  "stack",
  "never_settles",
  /** The code does not compile. `checkCode` says so before. */
  "bad_code",
  /** The thread ended for another reason. */
  "crashed",
  /** The sandboxes were closed before the message had its turn: it was not tried. */
  "closed",
] as const;
export type FailureCode = (typeof FAILURE_CODES)[number];

export interface TransformFailure {
  readonly code: FailureCode;
  /** For people: what happened, without secrets. */
  readonly message: string;
  /** In the author's file, from 1, where it is known. */
  readonly line?: number;
  readonly column?: number;
}

export interface LogLine {
  readonly level: "info" | "warn" | "error";
  readonly text: string;
}

export type TransformResult = (
  | { readonly kind: "same" }
  /** With their ids: those of an array, also of one message, are numbered from 1. */
  | { readonly kind: "messages"; readonly messages: readonly JsonObject[] }
  | { readonly kind: "dropped" }
  | ({ readonly kind: "failed" } & TransformFailure)
) & { readonly logs: readonly LogLine[] };

/** What `checkCode` finds. */
export type CodeCheck = { readonly ok: true } | ({ readonly ok: false } & Omit<TransformFailure, "code">);
