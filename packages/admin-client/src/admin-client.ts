import type {
  AudienceInput,
  AudiencePatch,
  ComputedTraitDefinition,
  ComputedTraitInput,
  ComputedTraitPatch,
  DeletionInput,
  DeletionPlan,
  DeletionView,
  DestinationInput,
  DestinationPatch,
  QueryOf,
  RateSpan,
  ReplayInput,
  SourceInput,
  SourcePatch,
  TokenAccess,
} from "@sluice/control-api";
import type { Condition } from "@sluice/protocol";
import { caller, type Loose } from "./call.js";
import { type LiveItem, type LiveOptions, liveStream } from "./live-stream.js";
import type { AdminClientOptions } from "./request.js";

export type PageOptions = Loose<QueryOf<"GET /sources">>;
export type MessageSearch = Loose<QueryOf<"GET /messages">>;
export type RejectedSearch = Loose<QueryOf<"GET /rejected-messages">>;
export type DeliverySearch = Loose<QueryOf<"GET /deliveries">>;
export type WaitFor = Loose<QueryOf<"GET /wait">>;
type IdOfSuppression = QueryOf<"DELETE /suppressions/:userId">["by"];

export type AdminClient = ReturnType<typeof adminClient>;

/** The control API as methods. Every method rejects with `AdminError` or `AdminUnreachable`. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a flat table of methods, one per endpoint; cutting it would hide the list.
export function adminClient(options: AdminClientOptions) {
  const call = caller(options);
  return {
    sources: {
      list: (page: PageOptions = {}) => call("GET /sources", { query: page }),
      get: (id: string) => call("GET /sources/:id", { params: { id } }),
      create: (body: SourceInput) => call("POST /sources", { body }),
      patch: (id: string, body: SourcePatch) => call("PATCH /sources/:id", { params: { id }, body }),
      delete: (id: string) => call("DELETE /sources/:id", { params: { id } }),
      usage: (id: string) => call("GET /sources/:id/usage", { params: { id } }),
      addWriteKey: (id: string) => call("POST /sources/:id/write-keys", { params: { id } }),
      removeWriteKey: (id: string, key: string) =>
        call("DELETE /sources/:id/write-keys/:key", { params: { id, key } }),
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
      status: (id: string) => call("GET /destinations/:id/status", { params: { id } }),
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
    profiles: { get: (userId: string) => call("GET /profiles/:userId", { params: { userId } }) },
    deletions: {
      list: (page: PageOptions = {}) => call("GET /deletions", { query: page }),
      get: (id: string) => call("GET /deletions/:id", { params: { id } }),
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
    info: () => call("GET /info", {}),
    /** What was accepted, delivered and failed recently. Default: `1h`. */
    rates: (span?: RateSpan) => call("GET /rates", { query: { span } }),
    /** Dev mode only: deletes every message and its deliveries. */
    reset: () => call("POST /reset", {}),
    live: (live?: LiveOptions): AsyncGenerator<LiveItem> => liveStream(options, live),
  };
}
