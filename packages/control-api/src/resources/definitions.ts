import { Type } from "@sinclair/typebox";
import { closed, oneOf, type Shape } from "../endpoint.js";

/**
 * What audiences and computed traits have in common: each is a definition that the collector evaluates for every user
 * and sends to destinations.
 */
export const DefinitionName = Type.String({ minLength: 1, maxLength: 200 });
export const DestinationIds = Type.Array(Type.String(), {
  maxItems: 100,
  description: "Without one, the definition is evaluated but nothing is sent",
});

/** How far the evaluation of an audience or computed trait is. */
export const SyncView = Type.Object({
  state: oneOf(["reading_history", "evaluating", "live", "paused", "disabled", "scheduled"]),
  progress: Type.Number({
    minimum: 0,
    maximum: 1,
    description: "Of the current phase; 1 when live",
  }),
  evaluated: Type.Integer({ description: "Profiles evaluated so far in the current phase" }),
  startedAt: Type.String(),
  finishedAt: Type.Optional(Type.String()),
  nextSyncAt: Type.Optional(
    Type.String({ description: "When the next sync starts, if there is a schedule" }),
  ),
  behind: Type.Optional(Type.Integer({ description: "Messages in the log that are not evaluated yet" })),
  leftOut: Type.Optional(
    Type.Object(
      { users: Type.Integer(), events: Type.Integer() },
      {
        description:
          "Computed traits only: users whose value is incomplete because a limit was reached, and the number of their events that are missing",
      },
    ),
  ),
});
export type SyncView = Shape<typeof SyncView>;

export const MemberView = Type.Object({
  userId: Type.Optional(Type.String({ description: "Absent while the user is anonymous" })),
  anonymousId: Type.Optional(Type.String()),
  name: Type.Optional(Type.String({ description: "The trait `name` or `email`, if it is a text" })),
  since: Type.Optional(Type.String()),
});
export type MemberView = Shape<typeof MemberView>;

/** The query of `/why`. */
export const WhyQuery = closed({ userId: Type.String({ minLength: 1 }) });

/** The summary of the commands that enable one. */
export const ENABLE_SYNC = "Start syncing again; first sends what has changed since it was disabled";
