import type { EventLog } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import { setAsideView } from "../../../profiles/crash-marker.js";
import type { UnitResult } from "../../state/unit-runner.js";
import type { Engine } from "../audiences.js";
import type { DefinitionsInForce } from "../definitions-in-force.js";
import type { FreshReaders } from "../fresh-readers.js";
import type { OutboxPublisher } from "../outbox.js";
import type { SuppressedIdChanges } from "../suppressed-ids.js";
import type { AudienceMetrics, Logger } from "../telemetry.js";
import type { Checkpoints } from "./checkpoints.js";
import type { Outcome, Situation } from "./loop-state.js";
import { READ_LIMITS } from "./loop-state.js";
import type { Progress } from "./progress.js";

export interface TaskParts {
  readonly log: EventLog;
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

/** The tasks of the loop: each makes the engine do something and carries out what follows from it. */
export class Tasks {
  readonly #parts: TaskParts;

  constructor(parts: TaskParts) {
    this.#parts = parts;
  }

  /** When something is due by itself. */
  get wakeAtMs(): number | undefined {
    return this.#parts.progress.status.wakeAtMs;
  }

  /** When the cursor has to be reported to retention, as a monotonic reading. */
  get reportAtMs(): number | undefined {
    const { checkpoints, progress } = this.#parts;
    return checkpoints.reportAtMs(progress.status.cursor);
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
    return checkpoints.compact(progress.status.cursor, progress.counted);
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
    await checkpoints.reportIfDue(progress.status.cursor);
    return "quiet";
  }

  async #countMessages(): Promise<boolean> {
    const { log, engine, clock, progress, checkpoints } = this.#parts;
    const { cursor } = progress.status;
    const batches = await log.read(cursor, READ_LIMITS);
    if (batches.length === 0) return false;
    await this.#apply(await engine.consume(batches, clock.now(), cursor));
    progress.countedIn(batches);
    await checkpoints.reportIfDue(progress.status.cursor);
    return true;
  }

  async #endWindows(): Promise<boolean> {
    const { engine, progress } = this.#parts;
    const { wakeAtMs } = progress.status;
    if (wakeAtMs === undefined || wakeAtMs > progress.knownUpToMs) return false;
    await this.#apply(await engine.tick(progress.knownUpToMs));
    return true;
  }

  async #readHistory(): Promise<boolean> {
    const { log, engine, progress } = this.#parts;
    const { historyAfter } = progress.status;
    if (historyAfter === undefined) return false;
    const past = await log.read(historyAfter, READ_LIMITS);
    await this.#apply(await engine.readHistory(past, progress.knownUpToMs));
    return true;
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
    readers.counted(result.status.cursor);
    for (const given of result.setAside)
      logger.warn("audiences failed over a message repeatedly and do not count it", {
        ...setAsideView(given),
      });
    await outbox.publish(result.pending);
  }
}
