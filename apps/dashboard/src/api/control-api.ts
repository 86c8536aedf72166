import {
  type AdminClient,
  adminClient,
  type LiveItem,
  type LiveOptions,
  type PageOptions,
} from "@sluice/admin-client";
import type {
  AudienceInput,
  AudiencePatch,
  AudiencePreview,
  AudienceView,
  ComputedTraitInput,
  ComputedTraitPatch,
  ComputedTraitView,
  Condition,
  DeletionInput,
  DeletionView,
  ListAnswer,
  MemberView,
  ProfileView,
  SuppressionView,
  WhyView,
} from "@sluice/protocol";

/** The calls of `/api/v1` that the pages make. */
export interface ControlApi extends AdminClient {
  /** The live stream; `onOpen` is called when the collector has answered, however long the first event takes. */
  live(options?: LiveOptions, onOpen?: () => void): AsyncGenerator<LiveItem>;
  readonly audiences: {
    list(page?: PageOptions): Promise<ListAnswer<AudienceView>>;
    get(id: string): Promise<AudienceView>;
    create(input: AudienceInput): Promise<AudienceView>;
    patch(id: string, patch: AudiencePatch): Promise<AudienceView>;
    delete(id: string): Promise<void>;
    preview(condition: Condition, signal?: AbortSignal): Promise<AudiencePreview>;
    members(id: string, page?: PageOptions): Promise<ListAnswer<MemberView>>;
    why(id: string, userId: string): Promise<WhyView>;
  };
  readonly computedTraits: {
    list(page?: PageOptions): Promise<ListAnswer<ComputedTraitView>>;
    create(input: ComputedTraitInput): Promise<ComputedTraitView>;
    patch(id: string, patch: ComputedTraitPatch): Promise<ComputedTraitView>;
    delete(id: string): Promise<void>;
  };
  readonly profiles: { get(userId: string): Promise<ProfileView> };
  readonly deletions: {
    list(page?: PageOptions): Promise<ListAnswer<DeletionView>>;
    create(input: DeletionInput): Promise<DeletionView>;
  };
  readonly suppressions: {
    list(page?: PageOptions): Promise<ListAnswer<SuppressionView>>;
    lift(userId: string): Promise<void>;
  };
  /** The counters that Prometheus reads; they need no token. */
  metrics(): Promise<string>;
}

export function controlApi(token: string): ControlApi {
  const client = adminClient({ url: location.origin, token });
  const { request } = client;
  const at = (path: string, id: string, rest = ""): string => `${path}/${encodeURIComponent(id)}${rest}`;
  return {
    ...client,
    live: (options, onOpen = () => {}) =>
      adminClient({
        url: location.origin,
        token,
        fetch: async (...request) => {
          const response = await fetch(...request);
          if (response.ok) onOpen();
          return response;
        },
      }).live(options),
    audiences: {
      list: (page = {}) => request("GET", "/audiences", { query: { ...page } }),
      get: (id) => request("GET", at("/audiences", id)),
      create: (body) => request("POST", "/audiences", { body }),
      patch: (id, body) => request("PATCH", at("/audiences", id), { body }),
      delete: (id) => request("DELETE", at("/audiences", id)),
      preview: (condition, signal) =>
        request("POST", "/audiences/preview", { body: { condition }, ...(signal && { signal }) }),
      members: (id, page = {}) => request("GET", at("/audiences", id, "/members"), { query: { ...page } }),
      why: (id, userId) => request("GET", at("/audiences", id, "/why"), { query: { userId } }),
    },
    computedTraits: {
      list: (page = {}) => request("GET", "/computed-traits", { query: { ...page } }),
      create: (body) => request("POST", "/computed-traits", { body }),
      patch: (id, body) => request("PATCH", at("/computed-traits", id), { body }),
      delete: (id) => request("DELETE", at("/computed-traits", id)),
    },
    profiles: { get: (userId) => request("GET", at("/profiles", userId)) },
    deletions: {
      list: (page = {}) => request("GET", "/deletions", { query: { ...page } }),
      create: (body) => request("POST", "/deletions", { body }),
    },
    suppressions: {
      list: (page = {}) => request("GET", "/suppressions", { query: { ...page } }),
      lift: (userId) => request("DELETE", at("/suppressions", userId)),
    },
    async metrics() {
      const response = await fetch("/metrics");
      if (!response.ok) throw new Error(`/metrics answered ${response.status}`);
      return response.text();
    },
  };
}
