import { Type } from "@sinclair/typebox";
import { described, type EndpointTable, ListQuery, listOf, oneOf, type Shape } from "./endpoint.js";
import { DiskView, StorageView } from "./resources/collector.js";

export const DestinationHealthView = oneOf(
  [
    "good",
    "failing",
    "idle",
    "url_disabled",
    "partly_disabled",
    "partly_failing",
    "retrying",
    "behind",
    "disabled",
    "backing_off",
  ],
  {
    description:
      "The first of these that holds. `disabled`: you disabled it. `url_disabled`: every URL answered 410 Gone; save the webhooks to enable them again. `backing_off`: 10 attempts in a row failed, so nothing is sent but probes. `partly_failing`: some URLs fail, another one works. `failing`: the last delivery failed, or the destination cannot be opened; from 10 attempts a minute on: half of them failed, or the last 10. `partly_disabled`: some URLs answered 410 Gone, the others work. `retrying`: a twentieth or more of the last minute's attempts failed, of at least 10. `behind`: an unread message is older than a minute, or 10,000 messages wait. `good`: the last delivery succeeded. `idle`: no delivery yet",
  },
);
export type DestinationHealthView = Shape<typeof DestinationHealthView>;

const Reason = Type.String({ description: "Why, as a sentence" });
const Since = Type.Optional(Type.String({ description: "When it began. Absent if it is not known" }));

export const UrlHealthView = Type.Object({
  url: Type.String(),
  health: oneOf(["good", "failing", "retrying", "idle", "url_disabled"], {
    description: "As of a destination, for the attempts at this URL since its settings were last opened",
  }),
  reason: Reason,
  since: Since,
});
export type UrlHealthView = Shape<typeof UrlHealthView>;

export const DestinationStatusView = Type.Object({
  destinationId: Type.String(),
  state: oneOf(["delivering", "disabled", "backing_off"], {
    description: "What its queue does; `health` says whether messages arrive",
  }),
  health: DestinationHealthView,
  reason: Reason,
  since: Since,
  urls: Type.Array(UrlHealthView, { description: "Each URL; empty for a type without URLs" }),
  failingSince: Type.Optional(
    Type.String({ description: "When the first delivery failed after the last one that succeeded" }),
  ),
  disabledUrls: Type.Optional(Type.Array(Type.String(), { description: "URLs that answered 410 Gone" })),
  behind: Type.Integer({
    description:
      "Messages of its sources in the log that it has not read, plus those in their first attempt; 0 once every received message is routed",
  }),
  oldestUnreadAt: Type.Optional(
    Type.String({ description: "When the oldest message that it has not read was received" }),
  ),
  retries: Type.Integer({ description: "Failed messages that wait for their next attempt" }),
  waiting: Type.Integer({
    description:
      "`retries` plus `behind`, without the messages that came while it was disabled, because it skips those: what a disabled destination sends once you enable it",
  }),
  nextAttemptAt: Type.Optional(Type.String({ description: "When a failing destination is probed next" })),
  lastError: Type.Optional(
    Type.String({ description: "Why the last delivery failed. Absent if it succeeded" }),
  ),
});
export type DestinationStatusView = Shape<typeof DestinationStatusView>;

const SUMMARY = {
  health: DestinationHealthView,
  reason: Reason,
  since: Since,
};
/** The worst health of several destinations. */
export const HealthSummaryView = Type.Object(SUMMARY);
export type HealthSummaryView = Shape<typeof HealthSummaryView>;

export const CollectorHealthView = Type.Object({
  ...SUMMARY,
  health: oneOf(["storage_unavailable", ...DestinationHealthView.anyOf.map((one) => one.const)], {
    description:
      "The worst health of all destinations; `storage_unavailable` if the collector cannot write to its disk",
  }),
  destinations: Type.Array(DestinationStatusView, { description: "Every destination, oldest first" }),
  sources: Type.Array(Type.Object({ sourceId: Type.String(), ...SUMMARY }), {
    description: "For every source, the worst health of the destinations that it is connected to",
  }),
});
export type CollectorHealthView = Shape<typeof CollectorHealthView>;

export const IncidentKind = oneOf(
  ["destination_failing", "url_disabled", "retention_held_back", "disk_low", "rejections_rising"],
  {
    description:
      "`destination_failing`: longer than its `notifyAfterMs`. `url_disabled`: a URL answered 410 Gone. `retention_held_back`: messages beyond the retention limits are kept because a destination has not read them. `disk_low`: the data folder's disk is nearly full. `rejections_rising`: many more messages than usual are rejected",
  },
);
export type IncidentKind = Shape<typeof IncidentKind>;

export const IncidentView = Type.Object({
  id: Type.String({ description: "The same each time the same thing fails" }),
  kind: IncidentKind,
  state: oneOf(["open", "resolved"]),
  title: Type.String(),
  detail: Type.String({ description: "What happened, and what to do" }),
  destinationId: Type.Optional(Type.String()),
  since: Type.String({ description: "When it began" }),
  openedAt: Type.String({ description: "When the collector noticed" }),
  resolvedAt: Type.Optional(Type.String()),
  messageId: Type.Optional(
    Type.String({ description: "The last message of the source `sluice` that says that it is open" }),
  ),
});
export type IncidentView = Shape<typeof IncidentView>;

export const ProblemsView = Type.Object({
  storage: StorageView,
  disk: Type.Optional(
    described(
      Type.Object({ ...DiskView.properties, isLow: Type.Boolean() }),
      "The disk with the data folder. Absent: the collector cannot read its free space",
    ),
  ),
  refusedRequests: Type.Array(
    Type.Object({
      code: Type.String({ description: "The code of the error that the clients got" }),
      status: Type.Integer({ description: "The status that goes with it, such as 401, 413, 429 or 503" }),
      requests: Type.Integer({ description: "In the last hour" }),
      lastAt: Type.Optional(Type.String()),
    }),
    {
      description:
        "Requests to send messages that were refused whole, the most frequent code first. Counts survive restarts, but a killed collector loses its last minute",
    },
  ),
  wrongKeys: Type.Array(
    Type.Object({
      keyPrefix: Type.Optional(
        Type.String({ description: "How the unknown write key begins. Absent: the request named none" }),
      ),
      address: Type.String({
        description: "Where it was sent from: an IPv4 address, or the /64 block of an IPv6 address",
      }),
      client: Type.Optional(Type.String({ description: "The `User-Agent`, which names the library" })),
      requests: Type.Integer({ description: "Since `firstAt`" }),
      firstAt: Type.String(),
      lastAt: Type.String(),
    }),
    {
      description:
        "Who sent with an unknown write key in the last 7 days, the latest 100 of them, latest first",
    },
  ),
  refusedJoins: Type.Array(
    Type.Object({
      sourceId: Type.String(),
      messages: Type.Integer({ description: "Identify and alias messages since `firstAt`" }),
      firstAt: Type.String(),
      lastAt: Type.String(),
    }),
    {
      description:
        "Sources whose messages asked for ids to be joined that were not, in the last 7 days, latest first. A stored message says in `issues` which join was refused, and why",
    },
  ),
  incidents: Type.Array(IncidentView, { description: "Those that are open, newest first" }),
});
export type ProblemsView = Shape<typeof ProblemsView>;

export const healthEndpoints = {
  "GET /problems": {
    name: "collector.problems",
    summary:
      "Get what is wrong now: storage, disk, refused requests, unknown write keys, refused joins of ids, and open incidents",
    access: "read",
    answer: { status: 200, description: "The problems", schema: ProblemsView },
  },
  "GET /incidents": {
    name: "incidents.list",
    summary: "List incidents, open ones first; resolved ones are kept for 7 days",
    access: "read",
    query: ListQuery,
    answer: { status: 200, description: "A page of incidents", schema: listOf(IncidentView) },
    commands: [{ name: "incidents list", columns: "state since title detail" }],
  },
  "GET /health": {
    name: "collector.health",
    summary: "Get the health of the collector, of every destination, and of what each source goes to",
    access: "read",
    answer: { status: 200, description: "The health", schema: CollectorHealthView },
  },
} as const satisfies EndpointTable;

/**
 * How much a health matters.
 * - `ok`: messages arrive.
 * - `quiet`: there is nothing to deliver, or you disabled it.
 * - `warning`: messages arrive, but late, or not all of them, or not everywhere.
 * - `problem`: messages do not arrive.
 */
export type HealthLevel = "ok" | "quiet" | "warning" | "problem";

export interface HealthWords {
  readonly label: string;
  readonly level: HealthLevel;
}

/** The words for a health, wherever it is shown. The worst comes first. */
export const HEALTH_WORDS: Readonly<Record<CollectorHealthView["health"], HealthWords>> = {
  storage_unavailable: { label: "Storage unavailable", level: "problem" },
  url_disabled: { label: "URL disabled", level: "problem" },
  backing_off: { label: "Down", level: "problem" },
  failing: { label: "Failing", level: "problem" },
  partly_failing: { label: "Partly failing", level: "warning" },
  partly_disabled: { label: "Partly disabled", level: "warning" },
  retrying: { label: "Retrying", level: "warning" },
  behind: { label: "Behind", level: "warning" },
  good: { label: "Delivering", level: "ok" },
  idle: { label: "Idle", level: "quiet" },
  disabled: { label: "Disabled", level: "quiet" },
};
