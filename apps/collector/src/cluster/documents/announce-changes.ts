import { type ConfigStore, followInTime } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import type { Logger } from "../../process/telemetry/logger.js";
import { FOLLOWED_KINDS } from "./sync-documents.js";

export interface AnnouncedProcess {
  readonly node: string;
  readonly address: string;
  /** It may own a partition. */
  readonly isReady: boolean;
  /** Time since something was heard of it. */
  readonly silentMs: number;
}

export interface AnnounceParts {
  readonly config: Pick<ConfigStore, "watch">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The processes that are alive. */
  readonly processes: () => readonly AnnouncedProcess[];
  /** Tells a process of changes, and resolves when they are in force there. */
  readonly tell: (address: string, kinds: readonly string[], signal: AbortSignal) => Promise<void>;
}

/** Changes of which a process is to be told together. */
interface Untold {
  readonly kinds: ReadonlySet<string>;
  /** Called when nobody needs to wait for them any more. */
  readonly waits: (() => void)[];
}

function joined(one: Untold, other: Untold | undefined): Untold {
  if (other === undefined) return one;
  return { kinds: new Set([...one.kinds, ...other.kinds]), waits: [...one.waits, ...other.waits] };
}

function endWaits({ waits }: Untold): void {
  for (const end of waits.splice(0)) end();
}

interface Failure {
  readonly process: AnnouncedProcess;
  readonly error: unknown;
}

const AGAIN_AFTER_MS = 500;
/** By then, another process owns the partitions of one that was lost. */
const LOST_AFTER_MS = 4_000;

/**
 * Tells all processes of each change of the documents that partitions follow. The call that made the change waits until it is in force
 * everywhere, or for ten seconds. It does not wait for processes that were lost or cannot own a partition; those are told when they can be
 * reached. Returns a function that ends it.
 */
export function announceChanges(parts: AnnounceParts): () => void {
  const { config, clock, logger } = parts;
  const closing = new AbortController();

  /** Undefined: done, or nobody needs to try again. */
  const tellOnce = async (node: string, kinds: readonly string[]): Promise<Failure | undefined> => {
    const process = parts.processes().find((one) => one.node === node);
    if (process === undefined) return undefined;
    try {
      await parts.tell(process.address, kinds, closing.signal);
      return undefined;
    } catch (error) {
      return closing.signal.aborted ? undefined : { process, error };
    }
  };
  /** What each process is to be told next. One call to it is under way at a time. */
  const untold = new Map<string, Untold>();
  const told = new Set<string>();
  /** Goes on until it has succeeded, or the process has left the cluster. */
  const tellUntilDone = async (node: string): Promise<void> => {
    told.add(node);
    let tries = 0;
    for (let now = untold.get(node); now !== undefined; now = untold.get(node)) {
      untold.delete(node);
      const failure = await tellOnce(node, [...now.kinds]);
      if (failure === undefined) {
        endWaits(now);
        tries = 0;
        continue;
      }
      const { process, error } = failure;
      if (tries++ === 0) logger.warn("a process of the cluster does not have a change yet", { node, error });
      if (!process.isReady || process.silentMs > LOST_AFTER_MS) endWaits(now);
      untold.set(node, joined(now, untold.get(node)));
      await clock.sleep(AGAIN_AFTER_MS, closing.signal).catch(() => {});
    }
    told.delete(node);
  };
  const tell = (node: string, kinds: readonly string[]): Promise<void> =>
    new Promise((resolve) => {
      untold.set(node, joined({ kinds: new Set(kinds), waits: [resolve] }, untold.get(node)));
      if (!told.has(node)) void tellUntilDone(node);
    });
  const tellAll = (kinds: readonly string[]): Promise<unknown> =>
    Promise.all(parts.processes().map(({ node }) => tell(node, kinds)));

  const stopWatching = config.watch(({ kind }) =>
    FOLLOWED_KINDS.includes(kind) ? followInTime(tellAll([kind]), clock, closing.signal) : undefined,
  );
  // A former owner may have ended between a change and its announcement.
  void tellAll(FOLLOWED_KINDS);
  return () => {
    stopWatching();
    closing.abort();
  };
}
