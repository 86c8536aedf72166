import type { Clock } from "@sluice/resilience";
import { cursorIn, partitionOfCursor } from "../../../profiles/partition-offsets.js";
import { setAsideView } from "../../../profiles/set-aside.js";
import type { UnitResult } from "../../state/unit-runner.js";
import type { Engine } from "../audiences.js";
import type { DefinitionsInForce } from "../definitions-in-force.js";
import type { FreshReaders } from "../fresh-readers.js";
import type { AudienceMetrics } from "../metrics.js";
import type { OutboxPublisher } from "../outbox.js";
import { type PartitionLogs, unlessAway } from "../partition-logs.js";
import type { SuppressedIdChanges } from "../suppressed-ids.js";
import type { Logger } from "../telemetry.js";
import type { Checkpoints } from "./checkpoints.js";
import type { Outcome, Situation } from "./loop-state.js";
import { NextMessagesReader } from "./next-messages.js";
import type { Progress } from "./progress.js";
import { READ_LIMITS } from "./read-limits.js";

export interface TaskParts {
  readonly logs: PartitionLogs;
  readonly engine: Engine;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: AudienceMetrics;
  readonly progress: Progress;
  readonly definitions: DefinitionsInForce;
  readonly suppressed: SuppressedIdChanges;
  readonly outbox: OutboxPublisher;
  readonly readers: FreshReaders;
  readonly checkpoints: Checkpoints;
}

/** How often to look whether a partition can be read again, in milliseconds. */
const AGAIN_AFTER_MS = 1_000;

/** The tasks of the loop: each makes the engine do something and carries out what follows from it. */
export class Tasks {
  readonly #parts: TaskParts;
  readonly #next: NextMessagesReader;

  constructor(parts: TaskParts) {
    this.#parts = parts;
    this.#next = new NextMessagesReader(parts.logs);
  }

  /** When something is due by itself. */
  get wakeAtMs(): number | undefined {
    const { logs, progress, clock } = this.#parts;
    const { wakeAtMs, historyAfter } = progress.status;
    if (logs.followed.length === 0) return wakeAtMs;
    const nowMs = clock.now();
    const isWaiting = progress.behind > 0 || historyAfter.length > 0 || (wakeAtMs ?? nowMs + 1) <= nowMs;
    // What could be done was done: a partition cannot be read now, and nothing tells when it can.
    return isWaiting ? nowMs + AGAIN_AFTER_MS : wakeAtMs;
  }

  /** When the cursor has to be reported to retention, as a monotonic reading. */
  get reportAtMs(): number | undefined {
    const { checkpoints, progress } = this.#parts;
    return checkpoints.reportAtMs(cursorIn(progress.status.cursors, 0));
  }

  situation(): Omit<Situation, "isClosing"> {
    const { definitions, outbox, checkpoints, progress } = this.#parts;
    return {
      areDefinitionsStale: definitions.isStale,
      isOutboxUncertain: outbox.isUncertain,
      isCompactionDue: checkpoints.isCompactionDue(progress.counted),
    };
  }

  /** A task failed: the engine may have lost its memory, but not what it committed. */
  failed(): void {
    this.#parts.definitions.markStale();
    this.#parts.outbox.markUncertain();
  }

  takeUpDefinitions(): Promise<void> {
    const { definitions, engine, progress, checkpoints } = this.#parts;
    return definitions.takeUp(async (stored) => {
      engine.allowJoins(stored.policies);
      await this.#apply(await engine.define(stored.definitions, progress.knownUpToMs));
      checkpoints.begin(progress.counted);
    });
  }

  recoverOutbox(): Promise<void> {
    return this.#parts.outbox.recover();
  }

  compact(): Promise<void> {
    const { checkpoints, progress } = this.#parts;
    return checkpoints.compact(cursorIn(progress.status.cursors, 0), progress.counted);
  }

  /** One round: one unit of work of each kind that has something to do. */
  async read(): Promise<Outcome> {
    const { definitions, outbox, suppressed, engine, checkpoints, progress } = this.#parts;
    // They may have changed while another call had the engine. Messages that are read next may be of a source that was created meanwhile.
    if (definitions.isStale || outbox.isUncertain) return "done";
    suppressed.tell(engine);
    const didCount = await this.#countMessages();
    const didTick = await this.#endWindows();
    const didReadHistory = await this.#readHistory();
    // Even after history: a long history must delay neither schedules nor other definitions.
    const didWork = await this.#work();
    if (didCount || didTick || didReadHistory || didWork) return "busy";
    await engine.savePublished();
    await checkpoints.reportIfDue(cursorIn(progress.status.cursors, 0));
    return "quiet";
  }

  async #countMessages(): Promise<boolean> {
    const { suppressed, engine, clock, progress, checkpoints } = this.#parts;
    const next = await this.#next.read(progress.status.cursors);
    if (next === undefined) return false;
    const { log, batches } = next;
    if (log.followed !== undefined) {
      const { followed } = log;
      // After the messages are read: a suppression that was lifted before one of them must be known.
      const areKnown = await unlessAway(log, async () => {
        await suppressed.follow(followed);
        return true;
      });
      if (areKnown === undefined) return false;
      suppressed.tell(engine);
    }
    await this.#apply(await engine.consume(batches, clock.now()));
    progress.countedUpTo(log.partition, batches.at(-1)?.receivedAtMs ?? clock.now());
    await checkpoints.reportIfDue(cursorIn(progress.status.cursors, 0));
    return true;
  }

  async #endWindows(): Promise<boolean> {
    const { engine, progress } = this.#parts;
    const { wakeAtMs } = progress.status;
    if (wakeAtMs === undefined || wakeAtMs > progress.knownUpToMs || !progress.isTimeKnown) return false;
    await this.#apply(await engine.tick(progress.knownUpToMs));
    return true;
  }

  async #readHistory(): Promise<boolean> {
    const { logs, engine, progress } = this.#parts;
    for (const after of progress.status.historyAfter) {
      const partition = partitionOfCursor(after);
      const log = logs.of(partition);
      if (log === undefined || !log.isReadable) continue;
      const past = await unlessAway(log, () => log.read(after, READ_LIMITS));
      if (past === undefined) continue;
      await this.#apply(await engine.readHistory(past, progress.knownUpToMs, partition));
      return true;
    }
    return false;
  }

  async #work(): Promise<boolean> {
    const { engine, progress } = this.#parts;
    if (!progress.status.hasWork) return false;
    await this.#apply(await engine.work(progress.knownUpToMs));
    return true;
  }

  async #apply(result: UnitResult): Promise<void> {
    const { progress, metrics, readers, logger, outbox } = this.#parts;
    progress.report(result.status);
    metrics.count(result);
    readers.counted(result.status.cursors);
    for (const given of result.setAside)
      logger.warn("audiences failed over a message repeatedly and do not count it", {
        ...setAsideView(given),
      });
    await outbox.publish(result.pending);
  }
}
