import { hash } from "node:crypto";
import type { ConfigStore, Versioned } from "@sluice/event-log";
import { DOCUMENT_KINDS, mirrorDocuments } from "@sluice/event-log";
import { readPlan } from "@sluice/protocol";
import type { PlanOf, SourceDocument, SourcePlan, SourcePlanDocument } from "../../documents/documents.js";

/** The part of a source that ingestion needs. */
export interface Source {
  readonly id: string;
  readonly kind: SourceDocument["kind"];
  readonly region?: NonNullable<SourceDocument["region"]>;
  /** Messages a second. Absent: no limit of its own. */
  readonly rateLimit?: number;
}

/** The present sources by their write keys. */
export interface SourceDirectory {
  /**
   * The source of a write key. Keys are looked up by their hash, so that response times do not tell how much of a guessed key was
   * right.
   */
  find(writeKey: string): Source | undefined;
  /** The tracking plan of a source. A plan changes as a source does: see `version` and `begin`. */
  readonly planOf: PlanOf;
  /** Whether there is a source with that id. */
  has(sourceId: string): boolean;
  /** Changes with each change of a source. A source that was found is valid until then. */
  readonly version: number;
  /**
   * Call it in the same turn as the look-up, and the returned function when the messages are acknowledged. A change of a source waits
   * for everything that began before it.
   */
  begin(): () => void;
  /** Stops watching the documents. */
  close(): void;
}

export async function openSourceDirectory(
  config: Pick<ConfigStore, "list" | "watch">,
): Promise<SourceDirectory> {
  const hashesOf = new Map<string, readonly string[]>();
  const byHash = new Map<string, Source>();
  const acknowledging = gracePeriods();
  let version = 0;

  const forget = (id: string): void => {
    for (const keyHash of hashesOf.get(id) ?? []) if (byHash.get(keyHash)?.id === id) byHash.delete(keyHash);
    hashesOf.delete(id);
  };
  const take = ({ id, value }: Versioned<SourceDocument>): void => {
    const source: Source = {
      id,
      kind: value.kind,
      ...(value.region === undefined ? {} : { region: value.region }),
      ...(value.rateLimit === undefined ? {} : { rateLimit: value.rateLimit }),
    };
    const hashes = value.writeKeys.map(({ key }) => hashOf(key));
    hashesOf.set(id, hashes);
    for (const keyHash of hashes) byHash.set(keyHash, source);
  };
  const mirror = await mirrorDocuments<SourceDocument>(config, DOCUMENT_KINDS.source, (id, document) => {
    forget(id);
    if (document !== undefined) take(document);
    version++;
    return acknowledging.end();
  });
  const plans = new Map<string, SourcePlan>();
  const planMirror = await mirrorDocuments<SourcePlanDocument>(
    config,
    DOCUMENT_KINDS.sourcePlan,
    (id, document) => {
      plans.delete(id);
      const reading = document === undefined ? undefined : readPlan(document.value.plan);
      if (document !== undefined && reading?.kind === "plan")
        plans.set(id, { mode: document.value.mode, plan: reading.plan });
      version++;
      return acknowledging.end();
    },
  );
  return {
    planOf: (sourceId) => plans.get(sourceId),
    has: (sourceId) => hashesOf.has(sourceId),
    find: (writeKey) => byHash.get(hashOf(writeKey)),
    get version() {
      return version;
    },
    begin: () => acknowledging.begin(),
    close() {
      mirror.close();
      planMirror.close();
    },
  };
}

function hashOf(writeKey: string): string {
  return hash("sha256", writeKey, "base64");
}

/** Lets a change of shared state wait for everything that began before it. */
interface GracePeriods {
  /** Begins work that relies on the present state; returns the function that ends it. */
  begin(): () => void;
  /** Call it after changing the state. Resolves when all work that began before the call has ended. */
  end(): Promise<void>;
}

interface Period {
  open: number;
  onIdle: (() => void) | undefined;
}

function gracePeriods(): GracePeriods {
  let current: Period = { open: 0, onIdle: undefined };
  let ended: Promise<unknown> = Promise.resolve();
  return {
    begin() {
      const period = current;
      period.open += 1;
      return () => {
        period.open -= 1;
        if (period.open === 0) period.onIdle?.();
      };
    },
    async end() {
      const period = current;
      if (period.open > 0) {
        current = { open: 0, onIdle: undefined };
        const idle = new Promise<void>((resolve) => {
          period.onIdle = resolve;
        });
        ended = Promise.all([ended, idle]);
      }
      await ended;
    },
  };
}
