import { Type } from "@sinclair/typebox";
import type { AudienceDocument, Audiences } from "@sluice/audiences";
import type { Versioned } from "@sluice/event-log";
import type { AudienceView, SyncView } from "@sluice/protocol";
import { formatTime } from "@sluice/protocol";

const Name = Type.String({ minLength: 1, maxLength: 200 });
/** Checked by the protocol's own validator, whose errors name the node. */
export const ConditionSchema = Type.Unknown({
  description:
    'The condition tree: `{kind: "and" | "or", conditions}`, `{kind: "not", condition}`, `{kind: "trait", trait, is, value?}`, `{kind: "event", event, times: {atLeast | atMost | exactly: n}, withinMs?, where?: [{property, is, value?}]}`, `{kind: "audience", audienceId}`; `is`: equals, not_equals, exists, contains, less, greater, in',
});
export const DestinationIds = Type.Array(Type.String(), { maxItems: 100 });
const Ms = Type.Integer({ minimum: 0 });

export const SyncSchema = Type.Object({
  state: Type.Union(
    (["reading_history", "evaluating", "live", "paused", "disabled", "scheduled"] as const).map((state) =>
      Type.Literal(state),
    ),
  ),
  progress: Type.Number({ minimum: 0, maximum: 1, description: "Of the step under way; 1 when live" }),
  evaluated: Type.Integer({ description: "Profiles evaluated so far in the step under way" }),
  startedAt: Type.String(),
  finishedAt: Type.Optional(Type.String()),
  nextSyncAt: Type.Optional(Type.String()),
  behind: Type.Optional(Type.Integer({ description: "Messages of the log that are not evaluated yet" })),
  leftOut: Type.Optional(
    Type.Object(
      { users: Type.Integer(), events: Type.Integer() },
      {
        description:
          "Of a computed trait: users in whose value something is left out because a limit was reached, and how many of their events",
      },
    ),
  ),
});

export const AudienceSchema = Type.Object({
  id: Type.String(),
  name: Name,
  key: Type.String({ description: "The trait that is true for members" }),
  condition: ConditionSchema,
  destinationIds: DestinationIds,
  sync: Type.Object({ initialDelayMs: Ms, everyMs: Ms }),
  trackEvents: Type.Boolean(),
  enabled: Type.Boolean(),
  paused: Type.Boolean(),
  createdAt: Type.String(),
  size: Type.Integer({ description: "Members now" }),
  status: SyncSchema,
  version: Type.Integer(),
});

const Schedule = Type.Object(
  {
    initialDelayMs: Type.Optional(Ms),
    everyMs: Type.Optional(Ms),
  },
  { additionalProperties: false },
);

export const AudienceInputSchema = Type.Object(
  {
    name: Name,
    condition: ConditionSchema,
    destinationIds: Type.Optional(DestinationIds),
    sync: Type.Optional(Schedule),
    trackEvents: Type.Optional(
      Type.Boolean({ description: "Also sends track `Audience Entered` and `Audience Exited`" }),
    ),
    enabled: Type.Optional(Type.Boolean({ description: "Default: true" })),
  },
  { additionalProperties: false },
);

export const AudiencePatchSchema = Type.Object(
  {
    name: Type.Optional(Name),
    condition: Type.Optional(ConditionSchema),
    destinationIds: Type.Optional(DestinationIds),
    sync: Type.Optional(Schedule),
    trackEvents: Type.Optional(Type.Boolean()),
    enabled: Type.Optional(Type.Boolean()),
    paused: Type.Optional(
      Type.Boolean({ description: "Holds the sync and everything that would be sent; false goes on" }),
    ),
    version: Type.Optional(Type.Integer()),
  },
  { additionalProperties: false },
);

export const MemberSchema = Type.Object({
  userId: Type.Optional(Type.String()),
  anonymousId: Type.Optional(Type.String()),
  since: Type.Optional(Type.String()),
});

export const PreviewSchema = Type.Object({
  size: Type.Integer({ description: "Who would be in now" }),
  evaluated: Type.Integer({ description: "Profiles that were looked at" }),
  sample: Type.Array(MemberSchema),
  tookMs: Type.Number(),
});

export const WhySchema = Type.Object({
  userId: Type.String(),
  member: Type.Boolean(),
  since: Type.Optional(Type.String()),
  explanation: Type.Unknown({
    description:
      "The condition tree with `holds` at each node and what was `seen`: the trait's value, or how often the event was done",
  }),
});

export async function audienceView(
  { id, version, value }: Versioned<AudienceDocument>,
  audiences: Pick<Audiences, "figures">,
): Promise<AudienceView> {
  const figures = await audiences.figures(id);
  return {
    id,
    ...value,
    size: figures?.size ?? 0,
    status: figures?.status ?? notTakenUp(value.createdAt),
    version,
  };
}

/** For the moment between the storing of a definition and its taking up. */
export function notTakenUp(createdAt: string): SyncView {
  return {
    state: "reading_history",
    progress: 0,
    evaluated: 0,
    startedAt: formatTime(Date.parse(createdAt)),
  };
}
