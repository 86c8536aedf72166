import {
  type EventLog,
  type MessageQuery,
  type Offset,
  type StoredBatch,
  type StoredMessage,
  StoreError,
  type SuppressionDocument,
  type Versioned,
} from "@sluice/event-log";
import {
  type Cursors,
  cursorIn,
  offsetIn,
  ownCursor,
  ownOffset,
  partitionOf,
} from "../../profiles/partition-offsets.js";

type ReadLog = Pick<EventLog, "read" | "head" | "onAppend" | "find" | "get">;

/** Another partition of the cluster, whose messages are counted too. They are read from this process's copy of it. */
export interface FollowedPartition {
  /** At least 1. */
  readonly partition: number;
  /** With the partition's own offsets. */
  readonly log: ReadLog;
  /** Whether the log can be read now. If not, its messages wait, and those of other partitions are counted. */
  isReadable(): boolean;
  /** Whether the copy contains everything that the partition's log has, as far as is known. */
  isCurrent(): boolean;
  /** Resolves when the copy contains everything that was acknowledged before the call. Rejects when `signal` aborts. */
  caughtUp(signal: AbortSignal): Promise<void>;
  /** Changes when suppressions may have changed. */
  readonly documentChanges: string;
  /** The users whose messages the partition refuses, with its own offsets. */
  suppressions(): Promise<readonly Versioned<SuppressionDocument>[]>;
}

/** The log of one partition, with the engine's offsets: see `partition-offsets.ts`. */
export interface PartitionLog {
  readonly partition: number;
  /** Undefined: the log that audiences publish to, which this process writes. */
  readonly followed: FollowedPartition | undefined;
  readonly isReadable: boolean;
  read: EventLog["read"];
  head(): Offset;
  get(offset: Offset): Promise<StoredMessage | undefined>;
  find: EventLog["find"];
}

/** The logs of all partitions. A collector on its own has one. */
export class PartitionLogs {
  readonly all: readonly PartitionLog[];
  readonly own: PartitionLog;
  readonly followed: readonly FollowedPartition[];
  readonly #logs: readonly ReadLog[];

  constructor(own: ReadLog, followed: readonly FollowedPartition[]) {
    this.own = ownLog(own);
    this.followed = followed;
    this.all = [this.own, ...followed.map(followedLog)];
    this.#logs = [own, ...followed.map(({ log }) => log)];
  }

  /** Undefined: the cluster has no such partition. */
  of(partition: number): PartitionLog | undefined {
    return this.all.find((log) => log.partition === partition);
  }

  /** Messages of a partition that are not counted. */
  behind(log: PartitionLog, cursors: Cursors): number {
    return Math.max(0, log.head() - cursorIn(cursors, log.partition));
  }

  /** How many messages came into the logs, about. */
  length(): number {
    return this.all.reduce((sum, log) => sum + ownCursor(log.head()) + 1, 0);
  }

  onAppend(listener: () => void): () => void {
    const stops = this.#logs.map((log) => log.onAppend(listener));
    return () => {
      for (const stop of stops) stop();
    };
  }

  async get(offset: Offset): Promise<StoredMessage | undefined> {
    const log = this.of(partitionOf(offset));
    return log === undefined || !log.isReadable ? undefined : log.get(offset);
  }

  /** The newest messages of each partition that can be read, at most `limit` of each. */
  async find(query: MessageQuery, { limit }: { readonly limit: number }) {
    const pages = await Promise.all(
      this.all.filter(({ isReadable }) => isReadable).map((log) => log.find(query, { limit })),
    );
    return { items: pages.flatMap(({ items }) => items) };
  }
}

/** Its offsets are the engine's. */
function ownLog(log: ReadLog): PartitionLog {
  return {
    partition: 0,
    followed: undefined,
    isReadable: true,
    read: (after, max) => log.read(after, max),
    head: () => log.head(),
    get: (offset) => log.get(offset),
    find: (query, page) => log.find(query, page),
  };
}

function followedLog(followed: FollowedPartition): PartitionLog {
  const { partition, log } = followed;
  const shown = <T extends StoredMessage>(message: T): T => ({
    ...message,
    offset: offsetIn(partition, message.offset),
  });
  return {
    partition,
    followed,
    get isReadable() {
      return followed.isReadable();
    },
    async read(after, max): Promise<readonly StoredBatch[]> {
      const batches = await log.read(ownCursor(after), max);
      return batches.map((batch) => ({ ...batch, first: offsetIn(partition, batch.first) }));
    },
    head: () => offsetIn(partition, log.head()),
    async get(offset) {
      const found = await log.get(ownOffset(offset));
      return found === undefined ? undefined : shown(found);
    },
    async find(query, page) {
      const found = await log.find(query, page);
      return { ...found, items: found.items.map(shown) };
    },
  };
}

/** Resolves with undefined where a followed partition cannot be read now. An error of the own log is passed on. */
export async function unlessAway<T>(log: PartitionLog, read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (log.followed !== undefined && error instanceof StoreError) return undefined;
    throw error;
  }
}
