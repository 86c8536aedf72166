import type { ListAnswer } from "@sluice/control-api";
import type { ConfigStore, Versioned } from "@sluice/event-log";
import { CollectorError } from "../errors.js";
import { pageOfDocuments } from "./paging.js";

/** The object without its undefined fields. */
export function withoutUndefined<T extends object>(object: T): WithoutUndefined<T> {
  return Object.fromEntries(
    Object.entries(object).filter(([, value]) => value !== undefined),
  ) as WithoutUndefined<T>;
}

type WithoutUndefined<T> = {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K];
} & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** Configuration documents of one kind, as the control API finds, lists and changes them. */
interface DocumentResource<Document> {
  /** Throws `not_found` if no document has the id. */
  find(config: ConfigStore, id: string): Promise<Versioned<Document>>;
  /**
   * Finds the document to change and checks its version: throws `precondition_failed` if `If-Match` names another version
   * (RFC 9110), `conflict` if the body does. Store the change under the version that was found; then of two changes made
   * at once one is refused instead of overwriting the other.
   */
  findToChange(config: ConfigStore, request: ChangeRequest): Promise<Versioned<Document>>;
  /** A page of the documents, oldest first. */
  list<View>(
    config: ConfigStore,
    query: { readonly limit?: number; readonly cursor?: string },
    view: (document: Versioned<Document>) => View | Promise<View>,
  ): Promise<ListAnswer<View>>;
}

interface ChangeRequest {
  readonly params: { readonly id: string };
  readonly body: { readonly version?: number };
  readonly ifMatch?: number;
}

/** `noun` names the resource in error messages. */
export function documentResource<Document>(kind: string, noun: string): DocumentResource<Document> {
  const find = async (config: ConfigStore, id: string): Promise<Versioned<Document>> => {
    const document = await config.get<Document>(kind, id);
    if (document === undefined) throw notFound(noun, id);
    return document;
  };
  return {
    find,
    async findToChange(config, { params, body, ifMatch }) {
      const document = await find(config, params.id);
      const { version } = document;
      const details = { details: { version } };
      if (ifMatch !== undefined && ifMatch !== version)
        throw new CollectorError("precondition_failed", `it is at version ${version}`, details);
      if (body.version !== undefined && body.version !== version)
        throw new CollectorError("conflict", `it is at version ${version}`, details);
      return document;
    },
    async list(config, query, view) {
      const page = pageOfDocuments(await config.list<Document>(kind), query);
      return { ...page, items: await Promise.all(page.items.map(view)) };
    },
  };
}

export function notFound(noun: string, id: string): CollectorError {
  return new CollectorError("not_found", `no ${noun} has the id ${id}`);
}
