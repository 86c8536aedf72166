import { isPlainObject, type JsonObject } from "@sluice/protocol";

/** Fields for every call that is made within `withContext`. */
export interface CallContext {
  userId?: string | number | undefined;
  anonymousId?: string | number | undefined;
  /** Merged over the client's `context` and under that of each call, key by key. */
  context?: object | undefined;
}

/** Keeps a value for everything that a function does, also after an `await`, as `AsyncLocalStorage` does. */
export interface ContextStorage {
  get(): CallContext | undefined;
  run<Result>(context: CallContext, work: () => Result): Result;
}

interface Ids {
  readonly userId?: unknown;
  readonly anonymousId?: unknown;
}

/** The context of a `withContext` inside another one. An argument that is not a context, or cannot be read, changes nothing. */
export function nestedContext(outer: CallContext | undefined, inner: CallContext): CallContext {
  try {
    const { userId, anonymousId } = idsWithin(outer, inner) as CallContext;
    return { userId, anonymousId, context: merged(outer?.context, inner.context) };
  } catch {
    return outer ?? {};
  }
}

/** Merges two contexts key by key. The second one wins. */
export function merged(outer: object | undefined, inner: object | undefined): JsonObject | undefined {
  if (!isPlainObject(inner)) return outer && { ...outer };
  return { ...outer, ...inner };
}

/** A copy of a call's argument with the ids of the context that it does not have itself. */
export function withIdsOf(context: Ids, input: object): JsonObject {
  const own: JsonObject = { ...input };
  const { userId, anonymousId } = idsWithin(context, own);
  if (!isAbsent(userId)) own.userId = userId;
  if (!isAbsent(anonymousId)) own.anonymousId = anonymousId;
  return own;
}

/**
 * The inner ids, completed by the outer ones. If an inner id contradicts an outer one, the other outer id is left out: it belongs to
 * another user, and a message with both ids would join the two.
 */
function idsWithin(outer: Ids | undefined, { userId, anonymousId }: Ids): Ids {
  if (!outer || differs(userId, outer.userId) || differs(anonymousId, outer.anonymousId))
    return { userId, anonymousId };
  return {
    userId: isAbsent(userId) ? outer.userId : userId,
    anonymousId: isAbsent(anonymousId) ? outer.anonymousId : anonymousId,
  };
}

function differs(inner: unknown, outer: unknown): boolean {
  return !isAbsent(inner) && !isAbsent(outer) && String(inner) !== String(outer);
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || value === "";
}
