import { type Static, Type } from "@sinclair/typebox";
import type { Rejection } from "@sluice/event-log";
import {
  type AttemptView,
  formatTime,
  type MessageSummary,
  type OutcomeSummary,
  type OutcomeView,
  type RejectedMessageView,
  type StoredMessageView,
} from "@sluice/protocol";
import type { SameShape } from "../same-shape.js";

const FINAL_STATES = ["delivered", "failed", "filtered", "skipped", "suppressed"] as const;
const stateOf = <T extends string>(states: readonly T[]) =>
  Type.Union(states.map((state) => Type.Literal(state)));

export const FinalStateSchema = stateOf(FINAL_STATES);
export const StateSchema = stateOf([...FINAL_STATES, "pending"]);

export const AttemptSchema = Type.Object({
  attempt: Type.Integer({ description: "The round, from 1" }),
  at: Type.String(),
  url: Type.String(),
  address: Type.Optional(Type.String({ description: "The address that was really connected to" })),
  status: Type.Optional(Type.Integer()),
  error: Type.Optional(Type.Object({ code: Type.String(), message: Type.String() })),
  latencyMs: Type.Number(),
  requestHeaders: Type.Optional(Type.Record(Type.String(), Type.String())),
  response: Type.Optional(Type.String({ description: "The first 4 KB of the answer" })),
  replay: Type.Optional(Type.Boolean()),
});

const outcome = {
  id: Type.String({ description: "The delivery's id" }),
  destinationId: Type.String(),
  state: StateSchema,
  reason: Type.String(),
  at: Type.Optional(Type.String()),
  nextAttemptAt: Type.Optional(Type.String()),
};
export const OutcomeSummarySchema = Type.Object(outcome);
export const OutcomeSchema = Type.Object({ ...outcome, attempts: Type.Array(AttemptSchema) });

const stored = {
  messageId: Type.String(),
  sourceId: Type.String(),
  receivedAt: Type.String(),
  message: Type.Record(Type.String(), Type.Unknown()),
};
const IssuesSchema = Type.Array(
  Type.Object({ code: Type.String(), path: Type.String(), message: Type.String() }),
);
export const MessageSummarySchema = Type.Object({ ...stored, outcomes: Type.Array(OutcomeSummarySchema) });
export const StoredMessageSchema = Type.Object({
  ...stored,
  state: Type.Literal("accepted"),
  issues: Type.Optional(IssuesSchema),
  outcomes: Type.Array(OutcomeSchema),
});

export const RejectedMessageSchema = Type.Object({
  messageId: Type.Optional(Type.String()),
  sourceId: Type.String(),
  receivedAt: Type.String(),
  state: Type.Literal("rejected"),
  type: Type.Optional(Type.String()),
  issues: IssuesSchema,
  excerpt: Type.String({ description: "The refused message's JSON, cut at 4 KB" }),
});

const _attempt: SameShape<Static<typeof AttemptSchema>, AttemptView> = true;
const _summary: SameShape<Static<typeof OutcomeSummarySchema>, OutcomeSummary> = true;
const _outcome: SameShape<Static<typeof OutcomeSchema>, OutcomeView> = true;
const _item: SameShape<Static<typeof MessageSummarySchema>, MessageSummary> = true;
const _message: SameShape<Static<typeof StoredMessageSchema>, StoredMessageView> = true;
const _rejected: SameShape<Static<typeof RejectedMessageSchema>, RejectedMessageView> = true;

export function rejectedView(rejection: Rejection): RejectedMessageView {
  return {
    ...(rejection.messageId === undefined ? {} : { messageId: rejection.messageId }),
    sourceId: rejection.sourceId,
    receivedAt: formatTime(rejection.receivedAtMs),
    state: "rejected",
    ...(rejection.type === undefined ? {} : { type: rejection.type }),
    issues: rejection.issues,
    excerpt: rejection.excerpt,
  };
}
