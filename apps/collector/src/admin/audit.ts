import { AUDIENCE, COMPUTED_TRAIT } from "@sluice/audiences";
import type { AuditEntryView, ListAnswer } from "@sluice/control-api";
import { type ConfigStore, DOCUMENT_KINDS } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import { newId } from "../documents/new-id.js";
import type { KnownToken } from "../tokens/tokens.js";
import { pageOfDocuments } from "./paging.js";

const SECRET_NAMES = /secret|token|password|passwd|authorization|cookie|api[-_]?key/i;
/** Replaces values that the audit log does not keep. */
export const HIDDEN = "(hidden)";

/** A request's body for the audit log: secrets and header values are replaced at any depth. */
function redact(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(redact);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      if (inner === null) return [name, inner];
      if (name === "secrets" && typeof inner === "object") return [name, hiddenValues(inner)];
      if (SECRET_NAMES.test(name)) return [name, HIDDEN];
      if (name === "headers" && typeof inner === "object") return [name, hiddenValues(inner)];
      return [name, redact(inner)];
    }),
  );
}

/** The names of values, and which of them were removed. */
function hiddenValues(values: object): object {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, value === null ? null : HIDDEN]),
  );
}

/** The audit log keeps this many of the newest entries. */
const MAX_ENTRIES = 10_000;
/** How far it may grow beyond that before the oldest are deleted: deleting one at a time would cost a commit per change. */
const SLACK = 100;
const KIND = "audit";

type AuditDocument = Omit<AuditEntryView, "id">;

export interface AuditLog {
  /** Resolves when it is stored. */
  add(entry: {
    readonly token: KnownToken;
    readonly action: string;
    readonly target?: string | undefined;
    /** The name of the target when it was changed. */
    readonly targetName?: string | undefined;
    readonly change?: unknown;
  }): Promise<void>;
  /** Newest first. */
  list(page: { readonly limit?: number; readonly cursor?: string }): Promise<ListAnswer<AuditEntryView>>;
}

/** The log of changes: who changed what and when. Its entries are documents of the config store. */
export function auditLog(config: ConfigStore, clock: Clock): AuditLog {
  let sinceTrim = SLACK;

  const trim = async (): Promise<void> => {
    if (sinceTrim < SLACK) return;
    sinceTrim = 0;
    const entries = await config.list<AuditDocument>(KIND);
    for (const entry of entries.slice(0, Math.max(0, entries.length - MAX_ENTRIES)))
      await config.delete(KIND, entry.id);
  };

  return {
    async add({ token, action, target, targetName, change }) {
      await config.put<AuditDocument>(
        KIND,
        newId("aud"),
        {
          at: formatTime(clock.now()),
          tokenId: token.id,
          tokenName: token.name,
          action,
          ...(target === undefined ? {} : { target }),
          ...(targetName === undefined ? {} : { targetName }),
          ...(change === undefined ? {} : { change: redact(change) }),
        },
        0,
      );
      sinceTrim += 1;
      await trim();
    },
    async list(page) {
      const entries = (await config.list<AuditDocument>(KIND)).map(({ id, value }) => ({ id, ...value }));
      return pageOfDocuments(entries.reverse(), page);
    },
  };
}

/** The kinds of resources with a name. */
const NAMED_KINDS = [
  DOCUMENT_KINDS.source,
  DOCUMENT_KINDS.destination,
  AUDIENCE,
  COMPUTED_TRAIT,
  DOCUMENT_KINDS.transformation,
  DOCUMENT_KINDS.token,
];

/** The name of a resource now; undefined if there is none, or if it has no name. Ids of different kinds differ. */
export async function nameOf(
  config: Pick<ConfigStore, "get">,
  id: string | undefined,
): Promise<string | undefined> {
  if (id === undefined) return undefined;
  for (const kind of NAMED_KINDS) {
    const found = await config.get<{ readonly name?: unknown }>(kind, id);
    if (typeof found?.value.name === "string") return found.value.name;
  }
  return undefined;
}
