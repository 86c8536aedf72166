import type {
  ActivityView,
  AudienceInput,
  AudiencePatch,
  AudienceSizesView,
  ComputedTraitDefinition,
  ComputedTraitInput,
  ComputedTraitPatch,
  DeletionInput,
  DeletionPlan,
  DeletionView,
  DestinationInput,
  DestinationPatch,
  DestinationRatesView,
  OperationCount,
  OperationInput,
  OperationView,
  QueryOf,
  RateSpan,
  RatesView,
  ReplayInput,
  SizeSpan,
  SourceInput,
  SourcePatch,
  SourcePlanInput,
  TokenAccess,
  TransformationDryRun,
  TransformationInput,
  TransformationPatch,
  TransformationTest,
} from "@sluice/control-api";
import type { Condition } from "@sluice/protocol";
import { AdminUnreachable } from "./admin-error.js";
import { type LiveItem, type LiveOptions, liveStream } from "./live-stream.js";
import { type AdminClientOptions, caller, type Loose, send, sendTo } from "./request.js";

export type PageOptions = Loose<QueryOf<"GET /sources">>;
export type MessageSearch = Loose<QueryOf<"GET /messages">>;
export type RejectedSearch = Loose<QueryOf<"GET /rejected-messages">>;
export type DeliverySearch = Loose<QueryOf<"GET /deliveries">>;
export type GroupSearch = Loose<QueryOf<"GET /delivery-groups">>;
export type WaitFor = Loose<QueryOf<"GET /wait">>;
type IdOfSuppression = QueryOf<"DELETE /suppressions/:userId">["by"];

export type AdminClient = ReturnType<typeof adminClient>;

/** The control API as methods. Every method rejects with `AdminError` or `AdminUnreachable`. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a flat table of methods, one per endpoint; cutting it would hide the list.
export function adminClient(options: AdminClientOptions) {
  const call = caller(options);
  /** What is asked for decides what the answer is. */
  const counters = <Answer>(of: string | undefined, span: RateSpan | SizeSpan | undefined) =>
    call("GET /counters", { query: { of, span } }) as Promise<Answer>;
  return {
    call,
    /** Any request: the response, whatever its body is. */
    request: (method: string, path: string, body?: unknown, signal?: AbortSignal) =>
      send(options, method, path, { body, signal }),
    sources: {
      list: (page: PageOptions = {}) => call("GET /sources", { query: page }),
      get: (id: string) => call("GET /sources/:id", { params: { id } }),
      create: (body: SourceInput) => call("POST /sources", { body }),
      patch: (id: string, body: SourcePatch) => call("PATCH /sources/:id", { params: { id }, body }),
      delete: (id: string) => call("DELETE /sources/:id", { params: { id } }),
      usage: (id: string) => call("GET /sources/:id/usage", { params: { id } }),
      plan: (id: string) => call("GET /sources/:id/plan", { params: { id } }),
      /** Holds the source's messages to a tracking plan; replaces the one that it has. */
      setPlan: (id: string, body: SourcePlanInput) => call("PUT /sources/:id/plan", { params: { id }, body }),
      removePlan: (id: string) => call("DELETE /sources/:id/plan", { params: { id } }),
      /** The names of events, pages and screens that it sent. */
      events: (id: string, page: PageOptions = {}) =>
        call("GET /sources/:id/events", { params: { id }, query: page }),
      /** The names of track events that any source sent. */
      eventNames: () => call("GET /event-names", {}),
      addWriteKey: (id: string) => call("POST /sources/:id/write-keys", { params: { id } }),
      removeWriteKey: (id: string, key: string) =>
        call("DELETE /sources/:id/write-keys/:key", { params: { id, key } }),
    },
    cluster: {
      get: () => call("GET /cluster", {}),
      drain: (node: string) => call("POST /cluster/members/:node/drain", { params: { node } }),
      undrain: (node: string) => call("DELETE /cluster/members/:node/drain", { params: { node } }),
    },
    catalog: { list: () => call("GET /catalog", {}) },
    destinations: {
      list: (page: PageOptions = {}) => call("GET /destinations", { query: page }),
      get: (id: string) => call("GET /destinations/:id", { params: { id } }),
      create: (body: DestinationInput) => call("POST /destinations", { body }),
      patch: (id: string, body: DestinationPatch) =>
        call("PATCH /destinations/:id", { params: { id }, body }),
      delete: (id: string) => call("DELETE /destinations/:id", { params: { id } }),
      /** Sends one message through the real delivery path and resolves with its outcome. */
      test: (id: string) => call("POST /destinations/:id/test", { params: { id } }),
      lastTest: (id: string) => call("GET /destinations/:id/test", { params: { id } }),
      status: (id: string) => call("GET /destinations/:id/status", { params: { id } }),
      /** What it received recently. Default: `1h`. */
      rates: (id: string, span?: RateSpan) => counters<DestinationRatesView>(`destination:${id}`, span),
    },
    transformations: {
      list: (page: PageOptions = {}) => call("GET /transformations", { query: page }),
      get: (id: string) => call("GET /transformations/:id", { params: { id } }),
      create: (body: TransformationInput) => call("POST /transformations", { body }),
      patch: (id: string, body: TransformationPatch) =>
        call("PATCH /transformations/:id", { params: { id }, body }),
      delete: (id: string) => call("DELETE /transformations/:id", { params: { id } }),
      versions: (id: string, page: PageOptions = {}) =>
        call("GET /transformations/:id/versions", { params: { id }, query: page }),
      /** Runs code on messages; nothing is stored or sent. */
      test: (body: TransformationTest, signal?: AbortSignal) =>
        call("POST /transformations/test", { body, signal }),
      /** Runs code on the newest stored messages, and counts. */
      dryRun: (body: TransformationDryRun, signal?: AbortSignal) =>
        call("POST /transformations/dry-run", { body, signal }),
    },
    messages: {
      list: (search: MessageSearch = {}) => call("GET /messages", { query: search }),
      get: (messageId: string, sourceId?: string) =>
        call("GET /messages/:messageId", { params: { messageId }, query: { sourceId } }),
      rejected: (search: RejectedSearch = {}) => call("GET /rejected-messages", { query: search }),
      /** Resolves with the message as soon as it is in the state. */
      wait: (wanted: WaitFor) => call("GET /wait", { query: wanted }),
    },
    deliveries: {
      list: (search: DeliverySearch = {}) => call("GET /deliveries", { query: search }),
      get: (id: string) => call("GET /deliveries/:id", { params: { id } }),
      retry: (id: string) => call("POST /deliveries/:id/retry", { params: { id } }),
    },
    deliveryGroups: { list: (search: GroupSearch = {}) => call("GET /delivery-groups", { query: search }) },
    operations: {
      list: (page: PageOptions = {}) => call("GET /operations", { query: page }),
      get: (id: string) => call("GET /operations/:id", { params: { id } }),
      create: (body: Omit<OperationInput, "dryRun">) =>
        call("POST /operations", { body }) as Promise<OperationView>,
      /** How many deliveries `create` would change. */
      count: (body: Omit<OperationInput, "dryRun">) =>
        call("POST /operations", { body: { ...body, dryRun: true } }) as Promise<OperationCount>,
      cancel: (id: string) => call("POST /operations/:id/cancel", { params: { id } }),
    },
    replays: { create: (body: ReplayInput) => call("POST /replays", { body }) },
    audiences: {
      list: (page: PageOptions = {}) => call("GET /audiences", { query: page }),
      get: (id: string) => call("GET /audiences/:id", { params: { id } }),
      create: (body: AudienceInput) => call("POST /audiences", { body }),
      patch: (id: string, body: AudiencePatch) => call("PATCH /audiences/:id", { params: { id }, body }),
      delete: (id: string) => call("DELETE /audiences/:id", { params: { id } }),
      /** Evaluates a condition without creating anything. */
      preview: (condition: Condition, signal?: AbortSignal) =>
        call("POST /audiences/preview", { body: { condition }, signal }),
      members: (id: string, page: PageOptions = {}) =>
        call("GET /audiences/:id/members", { params: { id }, query: page }),
      /** How many members it had over time. Default: `week`. */
      sizes: (id: string, span?: SizeSpan) => counters<AudienceSizesView>(`audience:${id}`, span),
      why: (id: string, userId: string) =>
        call("GET /audiences/:id/why", { params: { id }, query: { userId } }),
      /** The progress of the evaluation and the messages that it leaves out. */
      engine: () => call("GET /audience-engine", {}),
    },
    computedTraits: {
      list: (page: PageOptions = {}) => call("GET /computed-traits", { query: page }),
      get: (id: string) => call("GET /computed-traits/:id", { params: { id } }),
      create: (body: ComputedTraitInput) => call("POST /computed-traits", { body }),
      patch: (id: string, body: ComputedTraitPatch) =>
        call("PATCH /computed-traits/:id", { params: { id }, body }),
      delete: (id: string) => call("DELETE /computed-traits/:id", { params: { id } }),
      /** Computes a trait without creating anything. */
      preview: (body: ComputedTraitDefinition, signal?: AbortSignal) =>
        call("POST /computed-traits/preview", { body, signal }),
      /** The users who have a value now. A page can be short or empty and still have a next one. */
      values: (id: string, page: PageOptions = {}) =>
        call("GET /computed-traits/:id/values", { params: { id }, query: page }),
      why: (id: string, userId: string) =>
        call("GET /computed-traits/:id/why", { params: { id }, query: { userId } }),
    },
    incidents: {
      list: (page: PageOptions = {}) => call("GET /incidents", { query: page }),
    },
    profiles: {
      get: (userId: string) => call("GET /profiles/:userId", { params: { userId } }),
      /** Profiles with an id or trait that contains `q`. A page can be short or empty and still have a next one. */
      list: (search: PageOptions & { readonly q?: string | undefined } = {}) =>
        call("GET /profiles", { query: search }),
    },
    deletions: {
      list: (page: PageOptions = {}) => call("GET /deletions", { query: page }),
      get: (id: string) => call("GET /deletions/:id", { params: { id } }),
      retry: (id: string, destinationId?: string) =>
        call("POST /deletions/:id/retry", { params: { id }, body: destinationId ? { destinationId } : {} }),
      giveUp: (id: string) => call("POST /deletions/:id/give-up", { params: { id } }),
      create: (body: Omit<DeletionInput, "dryRun">) =>
        call("POST /deletions", { body }) as Promise<DeletionView>,
      /** What `create` would remove; changes nothing. */
      plan: (body: Omit<DeletionInput, "dryRun">) =>
        call("POST /deletions", { body: { ...body, dryRun: true } }) as Promise<DeletionPlan>,
    },
    suppressions: {
      list: (page: PageOptions = {}) => call("GET /suppressions", { query: page }),
      /** `by`: what the id is. Default: `userId`. */
      lift: (id: string, by?: IdOfSuppression) =>
        call("DELETE /suppressions/:userId", { params: { userId: id }, query: { by } }),
    },
    tokens: {
      list: (page: PageOptions = {}) => call("GET /tokens", { query: page }),
      create: (body: { readonly name: string; readonly access?: TokenAccess }) =>
        call("POST /tokens", { body }),
      revoke: (id: string) => call("DELETE /tokens/:id", { params: { id } }),
    },
    audit: { list: (page: PageOptions = {}) => call("GET /audit", { query: page }) },
    /** A backup as a tar archive: its bytes as they arrive. Ends with an error if the connection does. */
    backup: async (signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> => {
      const { body } = await send(options, "POST", "/backups", { signal });
      if (body === null) throw new AdminUnreachable(options.url, "the backup has no body");
      return body;
    },
    info: () => call("GET /info", {}),
    /** What each source sent and each destination received in the last hour. */
    activity: () => counters<ActivityView>(undefined, undefined),
    problems: () => call("GET /problems", {}),
    health: () => call("GET /health", {}),
    /** What was accepted, delivered and failed recently. Default: `1h`. */
    rates: (span?: RateSpan) => counters<RatesView>("collector", span),
    /** The metrics in Prometheus' text format. */
    metrics: async (signal?: AbortSignal): Promise<string> =>
      (await sendTo(options, "GET", "/metrics?of=owner", { signal })).text(),
    /** Dev mode only: deletes every message and its deliveries. */
    reset: () => call("POST /reset", {}),
    live: (live?: LiveOptions): AsyncGenerator<LiveItem> => liveStream(options, live),
  };
}
