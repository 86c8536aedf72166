import type { AuditEntryView, ListAnswer } from "@sluice/control-api";
import type { ConfigStore } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import { newId } from "../../documents/new-id.js";
import type { KnownToken } from "../../tokens/tokens.js";
import { pageOfDocuments } from "../paging/page-documents.js";
import { redact } from "./redact.js";

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
