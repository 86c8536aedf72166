import type {
  AudienceEngineView,
  AudienceInput,
  AudiencePatch,
  AudiencePreview,
  AudienceView,
  AuditEntryView,
  CatalogEntryView,
  CollectorInfo,
  ComputedTraitDefinition,
  ComputedTraitInput,
  ComputedTraitPatch,
  ComputedTraitPreview,
  ComputedTraitView,
  Condition,
  CreatedTokenView,
  DeletionInput,
  DeletionPlan,
  DeletionView,
  DeliveryDetailView,
  DeliveryStateView,
  DeliveryView,
  DestinationInput,
  DestinationPatch,
  DestinationStatusView,
  DestinationView,
  ListAnswer,
  MemberView,
  MessageSummary,
  MessageView,
  ProfileView,
  RateSpan,
  RatesView,
  RejectedMessageView,
  ReplayInput,
  ReplayView,
  SourceInput,
  SourcePatch,
  SourceView,
  SuppressionView,
  TestSendView,
  TokenAccess,
  TokenView,
  UsageView,
  UserValueView,
  ValueWhyView,
  WhyView,
} from "@sluice/protocol";
import { type LiveItem, type LiveOptions, liveStream } from "./live-stream.js";
import { type AdminClientOptions, type AdminRequest, adminRequest } from "./request.js";

export interface PageOptions {
  /** Items a page. Default: 50. */
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

export interface MessageSearch extends PageOptions {
  readonly messageId?: string | undefined;
  readonly userId?: string | undefined;
  readonly type?: string | undefined;
  readonly event?: string | undefined;
  readonly sourceId?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** A filter of the debugger's grammar. */
  readonly q?: string | undefined;
}

export interface RejectedSearch extends PageOptions {
  readonly messageId?: string | undefined;
  readonly sourceId?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

export interface DeliverySearch extends PageOptions {
  readonly destinationId?: string | undefined;
  readonly state?: DeliveryStateView | undefined;
  readonly error?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

export interface WaitFor {
  readonly messageId: string;
  readonly sourceId?: string | undefined;
  readonly destinationId?: string | undefined;
  /**
   * `any`: one destination that has the state is enough; `all`: every one must have it, but for those that filtered,
   * skipped or suppressed the message. Default: `any`.
   */
  readonly destinations?: "any" | "all" | undefined;
  /** Default: `accepted`. */
  readonly state?: DeliveryStateView | "accepted" | "rejected" | undefined;
  /** Milliseconds. Default: 30,000. */
  readonly timeoutMs?: number | undefined;
}

/** The control API, typed. Every method rejects with `AdminError` or `AdminUnreachable`. */
export interface AdminClient {
  readonly sources: {
    list(page?: PageOptions): Promise<ListAnswer<SourceView>>;
    get(id: string): Promise<SourceView>;
    create(input: SourceInput): Promise<SourceView>;
    patch(id: string, patch: SourcePatch): Promise<SourceView>;
    delete(id: string): Promise<void>;
    usage(id: string): Promise<UsageView>;
    addWriteKey(id: string): Promise<SourceView>;
    removeWriteKey(id: string, key: string): Promise<void>;
  };
  readonly catalog: { list(): Promise<ListAnswer<CatalogEntryView>> };
  readonly destinations: {
    list(page?: PageOptions): Promise<ListAnswer<DestinationView>>;
    get(id: string): Promise<DestinationView>;
    create(input: DestinationInput): Promise<DestinationView>;
    patch(id: string, patch: DestinationPatch): Promise<DestinationView>;
    delete(id: string): Promise<void>;
    /** Sends one message through the real path and resolves when it ended. */
    test(id: string): Promise<TestSendView>;
    status(id: string): Promise<DestinationStatusView>;
  };
  readonly messages: {
    list(search?: MessageSearch): Promise<ListAnswer<MessageSummary>>;
    get(messageId: string, sourceId?: string): Promise<MessageView>;
    rejected(search?: RejectedSearch): Promise<ListAnswer<RejectedMessageView>>;
    /** Resolves with the message as soon as it is in that state. */
    wait(wanted: WaitFor): Promise<MessageView>;
  };
  readonly deliveries: {
    list(search?: DeliverySearch): Promise<ListAnswer<DeliveryView>>;
    get(id: string): Promise<DeliveryDetailView>;
    retry(id: string): Promise<DeliveryView>;
  };
  readonly replays: { create(input: ReplayInput): Promise<ReplayView> };
  readonly audiences: {
    list(page?: PageOptions): Promise<ListAnswer<AudienceView>>;
    get(id: string): Promise<AudienceView>;
    create(input: AudienceInput): Promise<AudienceView>;
    patch(id: string, patch: AudiencePatch): Promise<AudienceView>;
    delete(id: string): Promise<void>;
    /** Who would be in now, without making anything. */
    preview(condition: Condition, signal?: AbortSignal): Promise<AudiencePreview>;
    members(id: string, page?: PageOptions): Promise<ListAnswer<MemberView>>;
    why(id: string, userId: string): Promise<WhyView>;
    /** How far the evaluation is, and which messages it does not count. */
    engine(): Promise<AudienceEngineView>;
  };
  readonly computedTraits: {
    list(page?: PageOptions): Promise<ListAnswer<ComputedTraitView>>;
    get(id: string): Promise<ComputedTraitView>;
    create(input: ComputedTraitInput): Promise<ComputedTraitView>;
    patch(id: string, patch: ComputedTraitPatch): Promise<ComputedTraitView>;
    delete(id: string): Promise<void>;
    /** Who would have a value now, and which, without making anything. */
    preview(definition: ComputedTraitDefinition, signal?: AbortSignal): Promise<ComputedTraitPreview>;
    /** Users who have a value now. A page may be short, or empty, and have a next one. */
    values(id: string, page?: PageOptions): Promise<ListAnswer<UserValueView>>;
    /** How a user's value came about. */
    why(id: string, userId: string): Promise<ValueWhyView>;
  };
  readonly profiles: { get(userId: string): Promise<ProfileView> };
  readonly deletions: {
    list(page?: PageOptions): Promise<ListAnswer<DeletionView>>;
    get(id: string): Promise<DeletionView>;
    create(input: Omit<DeletionInput, "dryRun">): Promise<DeletionView>;
    /** What `create` would remove; nothing is changed. */
    plan(input: Omit<DeletionInput, "dryRun">): Promise<DeletionPlan>;
  };
  readonly suppressions: {
    list(page?: PageOptions): Promise<ListAnswer<SuppressionView>>;
    /** `by`: what the id is. Default: `userId`. */
    lift(id: string, by?: "userId" | "anonymousId" | "idHmac"): Promise<void>;
  };
  readonly tokens: {
    list(page?: PageOptions): Promise<ListAnswer<TokenView>>;
    create(input: { readonly name: string; readonly access?: TokenAccess }): Promise<CreatedTokenView>;
    revoke(id: string): Promise<void>;
  };
  readonly audit: { list(page?: PageOptions): Promise<ListAnswer<AuditEntryView>> };
  info(): Promise<CollectorInfo>;
  /** What was accepted, delivered and failed lately. Default: `1h`. */
  rates(span?: RateSpan): Promise<RatesView>;
  /** Dev mode only: forgets every message and what became of it. */
  reset(): Promise<void>;
  live(options?: LiveOptions): AsyncGenerator<LiveItem>;
  /** A call of the API that has no method here. */
  readonly request: AdminRequest;
}

export function adminClient(options: AdminClientOptions): AdminClient {
  const request = adminRequest(options);
  const at = (path: string, id: string, rest = ""): string => `${path}/${encodeURIComponent(id)}${rest}`;
  return {
    sources: {
      list: (page = {}) => request("GET", "/sources", { query: { ...page } }),
      get: (id) => request("GET", at("/sources", id)),
      create: (body) => request("POST", "/sources", { body }),
      patch: (id, body) => request("PATCH", at("/sources", id), { body }),
      delete: (id) => request("DELETE", at("/sources", id)),
      usage: (id) => request("GET", at("/sources", id, "/usage")),
      addWriteKey: (id) => request("POST", at("/sources", id, "/write-keys")),
      removeWriteKey: (id, key) => request("DELETE", at(at("/sources", id, "/write-keys"), key)),
    },
    catalog: { list: () => request("GET", "/catalog") },
    destinations: {
      list: (page = {}) => request("GET", "/destinations", { query: { ...page } }),
      get: (id) => request("GET", at("/destinations", id)),
      create: (body) => request("POST", "/destinations", { body }),
      patch: (id, body) => request("PATCH", at("/destinations", id), { body }),
      delete: (id) => request("DELETE", at("/destinations", id)),
      test: (id) => request("POST", at("/destinations", id, "/test")),
      status: (id) => request("GET", at("/destinations", id, "/status")),
    },
    messages: {
      list: (search = {}) => request("GET", "/messages", { query: { ...search } }),
      get: (messageId, sourceId) => request("GET", at("/messages", messageId), { query: { sourceId } }),
      rejected: (search = {}) => request("GET", "/rejected-messages", { query: { ...search } }),
      wait: (wanted) => request("GET", "/wait", { query: { ...wanted } }),
    },
    deliveries: {
      list: (search = {}) => request("GET", "/deliveries", { query: { ...search } }),
      get: (id) => request("GET", at("/deliveries", id)),
      retry: (id) => request("POST", at("/deliveries", id, "/retry")),
    },
    replays: { create: (body) => request("POST", "/replays", { body }) },
    audiences: {
      list: (page = {}) => request("GET", "/audiences", { query: { ...page } }),
      get: (id) => request("GET", at("/audiences", id)),
      create: (body) => request("POST", "/audiences", { body }),
      patch: (id, body) => request("PATCH", at("/audiences", id), { body }),
      delete: (id) => request("DELETE", at("/audiences", id)),
      preview: (condition, signal) =>
        request("POST", "/audiences/preview", {
          body: { condition },
          ...(signal === undefined ? {} : { signal }),
        }),
      members: (id, page = {}) => request("GET", at("/audiences", id, "/members"), { query: { ...page } }),
      why: (id, userId) => request("GET", at("/audiences", id, "/why"), { query: { userId } }),
      engine: () => request("GET", "/audience-engine"),
    },
    computedTraits: {
      list: (page = {}) => request("GET", "/computed-traits", { query: { ...page } }),
      get: (id) => request("GET", at("/computed-traits", id)),
      create: (body) => request("POST", "/computed-traits", { body }),
      patch: (id, body) => request("PATCH", at("/computed-traits", id), { body }),
      delete: (id) => request("DELETE", at("/computed-traits", id)),
      preview: (body, signal) =>
        request("POST", "/computed-traits/preview", {
          body,
          ...(signal === undefined ? {} : { signal }),
        }),
      values: (id, page = {}) =>
        request("GET", at("/computed-traits", id, "/values"), { query: { ...page } }),
      why: (id, userId) => request("GET", at("/computed-traits", id, "/why"), { query: { userId } }),
    },
    profiles: { get: (userId) => request("GET", at("/profiles", userId)) },
    deletions: {
      list: (page = {}) => request("GET", "/deletions", { query: { ...page } }),
      get: (id) => request("GET", at("/deletions", id)),
      create: (body) => request("POST", "/deletions", { body }),
      plan: (input) => request("POST", "/deletions", { body: { ...input, dryRun: true } }),
    },
    suppressions: {
      list: (page = {}) => request("GET", "/suppressions", { query: { ...page } }),
      lift: (id, by) => request("DELETE", at("/suppressions", id), { query: { by } }),
    },
    tokens: {
      list: (page = {}) => request("GET", "/tokens", { query: { ...page } }),
      create: (body) => request("POST", "/tokens", { body }),
      revoke: (id) => request("DELETE", at("/tokens", id)),
    },
    audit: { list: (page = {}) => request("GET", "/audit", { query: { ...page } }) },
    info: () => request("GET", "/info"),
    rates: (span) => request("GET", "/rates", { query: { span } }),
    reset: () => request("POST", "/reset"),
    live: (live) => liveStream(options, live),
    request,
  };
}
