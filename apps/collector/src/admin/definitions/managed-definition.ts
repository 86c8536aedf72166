import type {
  Audiences,
  createAudience,
  DefinitionChange,
  DefinitionIssue,
  Removal,
} from "@sluice/audiences";
import type { SyncView } from "@sluice/control-api";
import type { Page, PageRequest, Store, Versioned } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import { newId } from "../../documents/new-id.js";
import { CollectorError } from "../../errors.js";
import type { AdminContext } from "../context.js";
import { documentResource, notFound } from "../document-resource.js";
import type { EndpointRequest } from "../endpoint/endpoint.js";
import { pageRequest } from "../paging.js";

type ConfigOnly = Pick<Store, "config">;

/**
 * What differs between audiences and computed traits. Both are definitions that the collector evaluates for every user;
 * `managedDefinition` serves them alike.
 */
export interface DefinitionKind<Document, View, Input, Patch, Draft, Preview, Entry, Why> {
  /** The kind of its documents. */
  readonly kind: string;
  /** Names it in error messages. */
  readonly noun: string;
  readonly idPrefix: Parameters<typeof newId>[0];
  create(parts: Parameters<typeof createAudience>[0], input: Input): Promise<DefinitionChange<Document>>;
  patch(store: ConfigOnly, known: Versioned<Document>, patch: Patch): Promise<DefinitionChange<Document>>;
  remove(store: ConfigOnly, id: string): Promise<Removal>;
  view(document: Versioned<Document>, evaluated: Evaluated): View;
  /** What is wrong with a definition that is to be previewed. */
  draftIssues(store: ConfigOnly, draft: Draft): Promise<readonly DefinitionIssue[]>;
  preview(draft: Draft, signal: AbortSignal): Promise<Preview>;
  /** Its members, or the users who have a value; undefined if no definition has the id. */
  entries(id: string, page: PageRequest): Promise<Page<Entry> | undefined>;
  /** Undefined if the user has no profile. */
  why(id: string, userId: string): Promise<Why | undefined>;
}

/** The state of a definition's evaluation. */
export interface Evaluated {
  readonly size: number;
  readonly status: SyncView;
}

type ById = { readonly id: string };
type ListQuery = { readonly limit?: number; readonly cursor?: string };

/** The handlers of a kind of definition: create, list, get, patch, delete, preview, entries and why. */
export function managedDefinition<
  Document extends { readonly createdAt: string },
  View extends object,
  Input,
  Patch extends { readonly version?: number },
  Draft,
  Preview extends object,
  Entry,
  Why extends object,
>(
  kind: DefinitionKind<Document, View, Input, Patch, Draft, Preview, Entry, Why>,
  audiences: Pick<Audiences, "stats" | "requireInForce">,
) {
  const documents = documentResource<Document>(kind.kind, kind.noun);
  const show = async (document: Versioned<Document>): Promise<View> => {
    const evaluated = await audiences.stats(document.id);
    return kind.view(document, evaluated ?? notStarted(document.value.createdAt));
  };
  const showInForce = (change: DefinitionChange<Document>): Promise<View> => {
    const document = accept(change);
    audiences.requireInForce(document.id, document.version);
    return show(document);
  };
  return {
    async create({ body }: EndpointRequest<unknown, unknown, Input>, { store, clock }: AdminContext) {
      const change = await kind.create({ store, clock, id: newId(kind.idPrefix) }, body);
      return { status: 201, body: await showInForce(change) };
    },
    async list({ query }: EndpointRequest<unknown, ListQuery, unknown>, { store }: AdminContext) {
      return { status: 200, body: await documents.list(store.config, query, show) };
    },
    async get({ params }: EndpointRequest<ById, unknown, unknown>, { store }: AdminContext) {
      return { status: 200, body: await show(await documents.find(store.config, params.id)) };
    },
    async patch(request: EndpointRequest<ById, unknown, Patch>, { store }: AdminContext) {
      const known = await documents.findToChange(store.config, request);
      return { status: 200, body: await showInForce(await kind.patch(store, known, request.body)) };
    },
    async delete({ params: { id } }: EndpointRequest<ById, unknown, unknown>, { store }: AdminContext) {
      acceptRemoval(await kind.remove(store, id));
      audiences.requireInForce(id);
      return { status: 204 };
    },
    async preview({ body, request }: EndpointRequest<unknown, unknown, Draft>, { store }: AdminContext) {
      const issues = await kind.draftIssues(store, body);
      if (issues.length > 0) throw invalid(issues);
      return { status: 200, body: await kind.preview(body, request.signal) };
    },
    async entries({ params: { id }, query }: EndpointRequest<ById, ListQuery, unknown>) {
      const page = await kind.entries(id, pageRequest(query));
      if (page === undefined) throw notFound(kind.noun, id);
      return { status: 200, body: page };
    },
    async why(
      { params, query }: EndpointRequest<ById, { readonly userId: string }, unknown>,
      { store }: AdminContext,
    ) {
      const { id } = await documents.find(store.config, params.id);
      const why = await kind.why(id, query.userId);
      if (why === undefined) throw new CollectorError("not_found", "this user has no profile");
      return { status: 200, body: why };
    },
  };
}

/** A definition is stored a moment before its evaluation starts. */
function notStarted(createdAt: string): Evaluated {
  const startedAt = formatTime(Date.parse(createdAt));
  return { size: 0, status: { state: "reading_history", progress: 0, evaluated: 0, startedAt } };
}

/** The changed definition. Throws if the change was not accepted. */
function accept<Document>(change: DefinitionChange<Document>): Versioned<Document> {
  switch (change.kind) {
    case "changed":
      return change.definition;
    case "invalid":
      throw invalid(change.issues);
    case "key_taken":
      throw new CollectorError("conflict", `the key ${change.key} belongs to ${change.by}`, {
        details: { key: change.key, id: change.by },
      });
    default:
      return change satisfies never;
  }
}

/** Throws if the definition was not removed. */
function acceptRemoval(removal: Removal): void {
  switch (removal.kind) {
    case "removed":
      return;
    case "not_found":
      throw new CollectorError("not_found", "nothing has this id");
    case "named":
      throw new CollectorError("conflict", `other audiences depend on it: ${removal.by.join(", ")}`, {
        details: { audienceIds: removal.by },
      });
    default:
      removal satisfies never;
  }
}

function invalid(issues: readonly DefinitionIssue[]): CollectorError {
  const [first] = issues;
  return new CollectorError("invalid_request", first && `${first.path}: ${first.message}`, {
    details: { issues },
  });
}
