import { Type } from "@sinclair/typebox";
import {
  COMPARISONS,
  type Comparison,
  type ComparisonValue,
  type Condition,
  type Times,
} from "@sluice/protocol";
import type { EndpointTable } from "../endpoint.js";
import { closed, described, ListQuery, listOf, listParameters, type Shape } from "../endpoint.js";
import {
  DefinitionName,
  DestinationIds,
  ENABLE_SYNC,
  MemberView,
  SyncView,
  WhyQuery,
} from "./definitions.js";

/** The protocol's own validator checks it, because its errors name the node that is wrong. */
const ConditionTree = Type.Unsafe<Condition>(
  Type.Unknown({
    description: `The condition tree: \`{kind: "and" | "or", conditions}\`, \`{kind: "not", condition}\`, \`{kind: "trait", trait, is, value?}\`, \`{kind: "event", event, times: {atLeast | atMost | exactly: n}, withinMs?, where?: [{property, is, value?}]}\`, \`{kind: "audience", audienceId}\`; \`is\`: ${COMPARISONS.join(", ")}`,
  }),
);

const Ms = Type.Integer({ minimum: 0 });
export const SyncSchedule = closed(
  {
    initialDelayMs: Type.Optional(described(Ms, "From creation to the first sync. Default: 0")),
    everyMs: Type.Optional(
      described(
        Ms,
        "Between two syncs; each sends the changes since the last. Default: 0, every change at once",
      ),
    ),
  },
  { description: "Delays sending. Evaluation always happens at once" },
);
export type SyncSchedule = Shape<typeof SyncSchedule>;

const TrackEvents = Type.Boolean({
  description: "Also sends track `Audience Entered` and `Audience Exited`. Default: false",
});

export const AudienceView = Type.Object({
  id: Type.String(),
  name: DefinitionName,
  key: Type.String({ description: "The trait that is true for members" }),
  condition: ConditionTree,
  destinationIds: DestinationIds,
  sync: Type.Object({ initialDelayMs: Ms, everyMs: Ms }),
  trackEvents: Type.Boolean(),
  enabled: Type.Boolean(),
  paused: Type.Boolean(),
  createdAt: Type.String(),
  size: Type.Integer({ description: "Current number of members" }),
  status: SyncView,
  version: Type.Integer(),
});
export type AudienceView = Shape<typeof AudienceView>;

export const AudienceInput = closed({
  name: DefinitionName,
  condition: ConditionTree,
  destinationIds: Type.Optional(DestinationIds),
  sync: Type.Optional(SyncSchedule),
  trackEvents: Type.Optional(TrackEvents),
  enabled: Type.Optional(Type.Boolean({ description: "Default: true" })),
});
export type AudienceInput = Shape<typeof AudienceInput>;

export const AudiencePatch = closed({
  ...Type.Partial(AudienceInput).properties,
  paused: Type.Optional(
    Type.Boolean({ description: "true holds everything that would be sent; false resumes" }),
  ),
  version: Type.Optional(Type.Integer()),
});
export type AudiencePatch = Shape<typeof AudiencePatch>;

export const AudiencePreview = Type.Object({
  size: Type.Integer({ description: "Users who would be members now" }),
  evaluated: Type.Integer({ description: "Profiles evaluated" }),
  sample: Type.Array(MemberView, { description: "The first ten members" }),
  tookMs: Type.Number(),
});
export type AudiencePreview = Shape<typeof AudiencePreview>;

/** Why a user is a member or not: the condition tree with the values found at each node. */
export type Explanation =
  | { readonly kind: "and" | "or"; readonly holds: boolean; readonly conditions: readonly Explanation[] }
  | { readonly kind: "not"; readonly holds: boolean; readonly condition: Explanation }
  | {
      readonly kind: "trait";
      readonly holds: boolean;
      readonly trait: string;
      readonly is: Comparison;
      readonly value?: ComparisonValue;
      /** The user's value. Absent: the user has none. */
      readonly seen?: unknown;
    }
  | {
      readonly kind: "event";
      readonly holds: boolean;
      readonly event: string;
      readonly times: Times;
      readonly withinMs?: number;
      /** How many events match. With `orMore`: at least this many. */
      readonly seen: number;
      readonly orMore?: boolean;
      readonly lastAt?: string;
      /** When the count falls next because an event leaves the window. */
      readonly changesAt?: string;
    }
  | { readonly kind: "audience"; readonly holds: boolean; readonly audienceId: string };

export const WhyView = Type.Object({
  userId: Type.String(),
  member: Type.Boolean(),
  since: Type.Optional(Type.String()),
  explanation: Type.Unsafe<Explanation>(
    Type.Unknown({
      description:
        "The condition tree. Each node has `holds` and `seen`: the trait's value, or the number of matching events",
    }),
  ),
});
export type WhyView = Shape<typeof WhyView>;

/** Messages that audiences leave out because the engine failed on them repeatedly. */
export const SetAsideView = Type.Object({
  messageId: Type.Optional(Type.String({ description: "Absent if the whole request cannot be read" })),
  sourceId: Type.String(),
  receivedAt: Type.String(),
  messages: Type.Integer({ description: "1, or the number of messages in a request that cannot be read" }),
});
export type SetAsideView = Shape<typeof SetAsideView>;

export const AudienceEngineView = Type.Object({
  behind: Type.Integer({ description: "Messages in the log that are not evaluated yet" }),
  setAside: Type.Array(SetAsideView, {
    description:
      "Messages that are left out because the engine failed on them repeatedly; the latest 1,000, oldest first",
  }),
});
export type AudienceEngineView = Shape<typeof AudienceEngineView>;

export const ProfileView = Type.Object({
  userId: Type.Optional(Type.String({ description: "Absent while the user is anonymous" })),
  anonymousId: Type.Optional(Type.String()),
  traits: Type.Record(Type.String(), Type.Unknown()),
  computedTraits: Type.Record(Type.String(), Type.Unknown()),
  audiences: Type.Array(
    Type.Object({
      id: Type.String(),
      key: Type.String(),
      member: Type.Boolean(),
      since: Type.String({ description: "When the user last entered or left" }),
    }),
  ),
  identities: Type.Object(
    { userIds: Type.Array(Type.String()), anonymousIds: Type.Array(Type.String()) },
    { description: "All ids of the profile" },
  ),
  leftOut: Type.Optional(
    Type.Object(
      { traits: Type.Integer(), ids: Type.Integer() },
      {
        description:
          "Number of trait values and ids that were left out because a profile holds at most 500 ids, 1,000 traits and 256 KB of both. Absent: none",
      },
    ),
  ),
  firstSeenAt: Type.String(),
  lastSeenAt: Type.String(),
});
export type ProfileView = Shape<typeof ProfileView>;

export const ProfileSummaryView = Type.Object({
  userId: Type.Optional(Type.String()),
  anonymousId: Type.Optional(
    Type.String({ description: "Instead of `userId`, if the user was never identified" }),
  ),
  traits: Type.Record(Type.String(), Type.String(), {
    description: "At most eight, as text of at most 100 characters; the profile has all of them",
  }),
  traitCount: Type.Integer(),
  audienceCount: Type.Integer({ description: "Audiences that the user is a member of" }),
  match: Type.Optional(
    Type.Object(
      {
        field: Type.String({ description: "`userId`, `anonymousId` or the name of a trait" }),
        value: Type.String(),
      },
      { description: "Where the search text was found" },
    ),
  ),
  firstSeenAt: Type.String(),
  lastSeenAt: Type.String(),
});
export type ProfileSummaryView = Shape<typeof ProfileSummaryView>;

export const ProfileListView = Type.Object({
  items: Type.Array(ProfileSummaryView),
  nextCursor: Type.Optional(Type.String({ description: "Absent: all profiles were searched" })),
  searched: Type.Integer({ description: "Profiles that this request looked at" }),
  total: Type.Integer({ description: "All profiles" }),
});
export type ProfileListView = Shape<typeof ProfileListView>;

export const ProfileQuery = closed({
  ...listParameters,
  q: Type.Optional(
    Type.String({
      maxLength: 500,
      description:
        "A part of an id or of a trait's value, ignoring case: `ada@`; or `trait:value` for one trait: `plan:pro`",
    }),
  ),
});

export const audienceEndpoints = {
  "POST /audiences": {
    name: "audiences.create",
    summary: "Create an audience; its destinations receive every current member, then every change",
    access: "write",
    body: AudienceInput,
    answer: { status: 201, description: "The audience", schema: AudienceView },
    errors: ["conflict", "not_in_force"],
    commands: [
      {
        name: "audiences create",
        arguments: ["name"],
        fields: ["condition", "destinationIds", "sync", "trackEvents"],
        example: `'Keen buyers' --condition '{"kind":"event","event":"Order Completed","times":{"atLeast":2},"withinMs":604800000}'`,
      },
    ],
  },
  "GET /audiences": {
    name: "audiences.list",
    summary: "List audiences, oldest first",
    access: "read",
    query: ListQuery,
    answer: { status: 200, description: "A page of audiences", schema: listOf(AudienceView) },
    commands: [{ name: "audiences list", columns: "id name key MEMBERS:size status.state status.progress" }],
  },
  "POST /audiences/preview": {
    name: "audiences.preview",
    summary: "Evaluate a condition over all profiles and the stored history; nothing is changed or sent",
    access: "read",
    body: closed({ condition: ConditionTree }),
    answer: { status: 200, description: "The size and a sample", schema: AudiencePreview },
    commands: [
      {
        name: "audiences preview",
        text: "{size} of {evaluated} users match (found in {tookMs} ms)",
        rows: "sample",
        example: "--condition @keen-buyers.json",
      },
    ],
  },
  "GET /audiences/:id": {
    name: "audiences.get",
    summary: "Get an audience with its size and sync status",
    access: "read",
    answer: { status: 200, description: "The audience", schema: AudienceView },
    errors: ["not_found"],
    commands: [{ name: "audiences get", example: '"Pro users"' }],
  },
  "PATCH /audiences/:id": {
    name: "audiences.patch",
    summary: "Change an audience; only the differences are sent. Its key stays the same",
    access: "write",
    body: AudiencePatch,
    answer: { status: 200, description: "The changed audience", schema: AudienceView },
    errors: ["not_found", "conflict", "precondition_failed", "not_in_force"],
    commands: [
      {
        name: "audiences update",
        fields: ["name", "condition", "destinationIds", "sync", "trackEvents"],
        example: '"Pro users" --name "Paying users"',
      },
      {
        name: "audiences pause",
        summary: "Pause syncing; changes are sent after resume",
        send: { paused: true },
        example: '"Pro users"',
      },
      {
        name: "audiences resume",
        summary: "Resume syncing",
        send: { paused: false },
        example: '"Pro users"',
      },
      {
        name: "audiences disable",
        summary: "Stop syncing",
        send: { enabled: false },
        example: '"Pro users"',
      },
      { name: "audiences enable", summary: ENABLE_SYNC, send: { enabled: true }, example: '"Pro users"' },
    ],
  },
  "DELETE /audiences/:id": {
    name: "audiences.delete",
    summary: "Delete an audience: nothing more is sent, and members do not get an exit",
    access: "write",
    answer: { status: 204, description: "The audience is deleted" },
    errors: ["not_found", "conflict", "not_in_force"],
    commands: [
      {
        name: "audiences delete",
        confirm: "Delete the audience {name} ({id})",
        example: '"Pro users" --yes',
      },
    ],
  },
  "GET /audiences/:id/members": {
    name: "audiences.members",
    summary: "List the current members, in the order in which the collector first saw them",
    access: "read",
    query: ListQuery,
    answer: { status: 200, description: "A page of members", schema: listOf(MemberView) },
    errors: ["not_found"],
    commands: [
      {
        name: "audiences members",
        columns: "userId anonymousId since",
        limit: 50,
        example: '"Pro users" --limit 100',
      },
    ],
  },
  "GET /audiences/:id/why": {
    name: "audiences.why",
    summary: "Explain why a user is a member or not, node by node, with the values found",
    access: "read",
    query: WhyQuery,
    answer: { status: 200, description: "The explanation", schema: WhyView },
    errors: ["not_found"],
    commands: [{ name: "audiences why", arguments: ["userId"], example: '"Pro users" 42' }],
  },
} as const satisfies EndpointTable;

export const profileEndpoints = {
  "GET /profiles": {
    name: "profiles.list",
    summary:
      "List profiles, the ones that were first seen last first, or search them by any id or trait. One request searches for about a second: while there is a `nextCursor`, the search is not complete",
    access: "read",
    query: ProfileQuery,
    answer: { status: 200, description: "A page of profiles", schema: ProfileListView },
    commands: [
      {
        name: "profiles list",
        arguments: ["q"],
        names: { q: "text" },
        columns: "userId anonymousId lastSeenAt traits FOUND_IN:match.field MATCH:match.value",
        empty: "no profile matches",
        notes: ["{searched} of {total} profiles searched"],
        limit: 50,
        example: "plan:pro -n 20",
      },
    ],
  },
  "GET /profiles/:userId": {
    name: "profiles.get",
    summary: "Get a user's profile by any of its ids",
    access: "read",
    answer: { status: 200, description: "The profile", schema: ProfileView },
    errors: ["not_found"],
    commands: [{ name: "profiles get", example: "42" }],
  },
  "GET /audience-engine": {
    name: "audiences.engine",
    summary: "Get the progress of the evaluation and the messages that it leaves out",
    access: "read",
    answer: { status: 200, description: "The engine's state", schema: AudienceEngineView },
  },
} as const satisfies EndpointTable;
