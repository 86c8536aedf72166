import { Type } from "@sinclair/typebox";
import type { EndpointTable } from "../endpoint.js";
import { closed, described, listOf, listParameters, oneOf, type Shape, timeParameters } from "../endpoint.js";

const FINAL_STATES = ["delivered", "failed", "filtered", "skipped", "suppressed", "discarded"] as const;

/** How a delivery can have ended. */
export const FinalStateView = oneOf(FINAL_STATES);
export type FinalStateView = Shape<typeof FinalStateView>;

export const DeliveryStateView = oneOf([...FINAL_STATES, "pending"]);
export type DeliveryStateView = Shape<typeof DeliveryStateView>;

/** The states of `GET /wait`. */
export const WaitStateView = oneOf(["accepted", "rejected", ...FINAL_STATES, "pending"], {
  description: "Default: `accepted`, which means stored",
});
export type WaitStateView = Shape<typeof WaitStateView>;

export const AttemptView = Type.Object({
  attempt: Type.Integer({ description: "The attempt's number, from 1" }),
  at: Type.String(),
  url: Type.String(),
  address: Type.Optional(Type.String({ description: "The IP address that was connected to" })),
  status: Type.Optional(Type.Integer()),
  error: Type.Optional(Type.Object({ code: Type.String(), message: Type.String() })),
  latencyMs: Type.Number(),
  requestHeaders: Type.Optional(Type.Record(Type.String(), Type.String())),
  response: Type.Optional(Type.String({ description: "The first 4 KB of the response" })),
  responseHeaders: Type.Optional(
    Type.Record(Type.String(), Type.String(), {
      description:
        "Names in lower case, at most 30 and 2 KB, secrets redacted, without `date`. Only of a response that did not accept the message",
    }),
  ),
  responseHeadersLeftOut: Type.Optional(
    Type.Integer({ description: "How many more headers the response had. Absent: none" }),
  ),
  replay: Type.Optional(Type.Boolean()),
  transformation: Type.Optional(
    Type.String({
      description:
        "The transformations that changed what was sent, each with its version; of several messages, which one. Absent: none",
    }),
  ),
});
export type AttemptView = Shape<typeof AttemptView>;

export const RequestBodyView = Type.Object(
  {
    text: Type.String({ description: "The body, or its start: in `GET /delivery-groups` at most 4 KB" }),
    bytes: Type.Integer({ description: "The length of the whole body" }),
    settingsChangedAt: Type.Optional(
      Type.String({
        description:
          "When the destination's settings, filters or transformation last changed. Attempts before it may have sent another body",
      }),
    ),
  },
  {
    description:
      "The body of all attempts. It is not stored, but made again from the message with the destination's present settings and transformations. Absent if the destination sends no requests, or would not send the message with its present filters",
  },
);
export type RequestBodyView = Shape<typeof RequestBodyView>;

export const OutcomeSummary = Type.Object({
  id: Type.String({ description: "The delivery's id" }),
  destinationId: Type.String(),
  state: DeliveryStateView,
  reason: Type.String(),
  at: Type.Optional(Type.String()),
  nextAttemptAt: Type.Optional(Type.String()),
});
export type OutcomeSummary = Shape<typeof OutcomeSummary>;

export const OutcomeView = Type.Object({
  ...OutcomeSummary.properties,
  attempts: Type.Array(AttemptView),
  requestBody: Type.Optional(RequestBodyView),
});
export type OutcomeView = Shape<typeof OutcomeView>;

const received = {
  messageId: Type.String(),
  sourceId: Type.String(),
  receivedAt: Type.String(),
  message: Type.Record(Type.String(), Type.Unknown()),
};
const Issues = Type.Array(Type.Object({ code: Type.String(), path: Type.String(), message: Type.String() }));

/** A stored message in a list. */
export const MessageSummary = Type.Object({
  ...received,
  violations: Type.Optional(
    Type.Array(
      Type.Object({ code: Type.Literal("plan_violation"), path: Type.String(), message: Type.String() }),
      {
        description: "How the message departs from the source's present tracking plan. Absent: it does not",
      },
    ),
  ),
  outcomes: Type.Array(OutcomeSummary),
});
export type MessageSummary = Shape<typeof MessageSummary>;

/** A stored message with its outcomes and attempts. */
export const StoredMessageView = Type.Object({
  ...received,
  state: Type.Literal("accepted"),
  issues: Type.Optional(
    described(
      Issues,
      "Problems that did not stop the message, such as an unreadable timestamp. Absent: none",
    ),
  ),
  outcomes: Type.Array(OutcomeView),
});
export type StoredMessageView = Shape<typeof StoredMessageView>;

/** A refused message. It is not in the event log and is kept for a limited time. */
export const RejectedMessageView = Type.Object({
  messageId: Type.Optional(Type.String()),
  sourceId: Type.String(),
  receivedAt: Type.String(),
  state: Type.Literal("rejected"),
  type: Type.Optional(
    Type.String({ description: "Absent if the whole request was refused or the message names no type" }),
  ),
  issues: Issues,
  excerpt: Type.String({ description: "The refused message's JSON, cut at 4 KB" }),
});
export type RejectedMessageView = Shape<typeof RejectedMessageView>;

export const MessageView = Type.Union([StoredMessageView, RejectedMessageView]);
export type MessageView = Shape<typeof MessageView>;

const LiveOutcome = Type.Composite([
  Type.Omit(OutcomeSummary, ["id", "at"]),
  Type.Object({ messageId: Type.String(), at: Type.String() }),
]);

/** The data of the events that `GET /live` sends; an event's name is its `kind`. */
export type LiveEventView =
  | ({ readonly kind: "message" } & Omit<MessageSummary, "outcomes">)
  | ({ readonly kind: "outcome" } & Shape<typeof LiveOutcome>)
  | ({ readonly kind: "rejected" } & Omit<RejectedMessageView, "state">)
  | DroppedView;

/** The reader was too slow, or away for too long, and missed this many events. */
export interface DroppedView {
  readonly kind: "dropped";
  readonly messages: number;
  readonly outcomes: number;
  /** There are at least this many; counting stopped early. Absent: the numbers are exact. */
  readonly isMinimum?: boolean;
}

const Filter = Type.Optional(
  Type.String({
    description: 'A filter: `type:track event:"Signed Up" user:42 outcome:failed some text`',
  }),
);

export const messageEndpoints = {
  "GET /messages": {
    name: "messages.list",
    summary: "List stored messages, newest first",
    access: "read",
    query: closed({
      messageId: Type.Optional(Type.String()),
      userId: Type.Optional(
        Type.String({ description: "The user id, or the anonymous id if there is none" }),
      ),
      type: Type.Optional(Type.String()),
      event: Type.Optional(Type.String()),
      sourceId: Type.Optional(Type.String()),
      ...timeParameters,
      q: Filter,
      ...listParameters,
    }),
    answer: {
      status: 200,
      description:
        "A page of messages. If few messages match the filter, a page can be short and still have a `nextCursor`",
      schema: listOf(MessageSummary),
    },
  },
  "GET /messages/:messageId": {
    name: "messages.get",
    summary:
      "Get a message with its outcome and attempts at every destination, or a refused message with the reasons",
    access: "read",
    query: closed({
      sourceId: Type.Optional(
        Type.String({ description: "Chooses one if two sources sent the same id. Default: the newest" }),
      ),
    }),
    answer: { status: 200, description: "The message", schema: MessageView },
    errors: ["not_found"],
  },
  "GET /rejected-messages": {
    name: "messages.listRejected",
    summary: "List refused messages with the reasons, newest first",
    access: "read",
    query: closed({
      messageId: Type.Optional(Type.String()),
      sourceId: Type.Optional(Type.String()),
      ...timeParameters,
      ...listParameters,
    }),
    answer: { status: 200, description: "A page of refused messages", schema: listOf(RejectedMessageView) },
  },
  "GET /wait": {
    name: "messages.wait",
    summary: "Wait until a message reaches a state, or can no longer reach it; made for tests",
    access: "read",
    query: closed({
      messageId: Type.String({ minLength: 1 }),
      sourceId: Type.Optional(Type.String()),
      destinationId: Type.Optional(
        Type.String({ description: "Looks at this destination only. Default: see `destinations`" }),
      ),
      destinations: Type.Optional(
        oneOf(["any", "all"], {
          description:
            "`any`: one destination in the state is enough. `all`: every destination must be in it, except those that filtered, skipped or suppressed the message. Default: `any`",
        }),
      ),
      state: Type.Optional(WaitStateView),
      timeoutMs: Type.Optional(
        Type.Integer({ minimum: 0, maximum: 600_000, description: "In milliseconds. Default: 30000" }),
      ),
      timeout: Type.Optional(
        Type.String({
          pattern: "^\\d{1,7}(ms|s)?$",
          description: "The same as text: `5s`, `5000ms` or `5000`",
        }),
      ),
    }),
    answer: { status: 200, description: "The message in that state", schema: MessageView },
    errors: ["wait_timed_out", "wait_impossible"],
  },
} as const satisfies EndpointTable;

export const liveEndpoints = {
  "GET /live": {
    name: "live.stream",
    summary: "Stream messages and outcomes as they happen, as server-sent events",
    access: "read",
    query: closed({ q: Filter }),
    answer: {
      status: 200,
      description:
        "Events `message`, `outcome`, `rejected` and `dropped`. `dropped` counts the messages and outcomes that this reader missed because it was too slow or away for too long (`isMinimum`: at least this many). `Last-Event-ID` resumes an earlier stream",
      schema: Type.String(),
      contentType: "text/event-stream",
    },
  },
} as const satisfies EndpointTable;
