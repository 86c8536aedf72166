import {
  BEFORE_FIRST,
  type EventLog,
  followInTime,
  SUPPRESSION,
  type SuppressionDocument,
} from "@sluice/event-log";
import { type SerialQueue, serialQueue } from "@sluice/resilience";
import { AUDIENCE, COMPUTED_TRAIT } from "../../definitions/definitions.js";
import { setAsideView } from "../../profiles/crash-marker.js";
import type { Audiences, AudiencesOptions } from "./audiences.js";
import { DefinitionsInForce } from "./definitions-in-force.js";
import { FreshReaders } from "./fresh-readers.js";
import { Checkpoints } from "./loop/checkpoints.js";
import { AudienceLoop } from "./loop/loop.js";
import { Pace } from "./loop/pace.js";
import { Progress } from "./loop/progress.js";
import { Tasks } from "./loop/tasks.js";
import { OutboxPublisher } from "./outbox.js";
import { audienceQuestions } from "./questions.js";
import { SuppressedIdChanges } from "./suppressed-ids.js";
import { registerMetrics } from "./telemetry.js";

/** Everything that is started together. */
interface Runner {
  readonly options: AudiencesOptions;
  readonly enqueue: SerialQueue;
  readonly log: EventLog;
  readonly progress: Progress;
  readonly definitions: DefinitionsInForce;
  readonly suppressed: SuppressedIdChanges;
  readonly outbox: OutboxPublisher;
  readonly readers: FreshReaders;
  readonly checkpoints: Checkpoints;
  readonly tasks: Tasks;
  readonly pace: Pace;
  readonly loop: AudienceLoop;
}

/**
 * Starts audiences and computed traits as one more consumer of the log. A loop carries out what the engine reports to be done. The
 * messages that the engine makes are appended to the log after the commit that made them, and again, under the same message ids, after a crash
 * between the two.
 */
export async function startAudiences(options: AudiencesOptions): Promise<Audiences> {
  const runner = assemble(options);
  const { progress, definitions, suppressed, checkpoints, pace, loop } = runner;
  const stopListening = listen(runner);
  await suppressed.loadAll(options.store.config);
  suppressed.tell(options.engine);
  // With nothing defined, the start of a collector need not wait for the engine: the loop begins with the same.
  if (await definitions.isAnyStored()) {
    options.onNeeded?.();
    await takeUpFirst(runner);
  }
  pace.begin();
  await checkpoints.open(progress.status.cursor);
  loop.start();
  return audiencesOf(runner, stopListening);
}

function assemble(options: AudiencesOptions): Runner {
  const { store, engine, clock, logger, digestKey } = options;
  const { log } = store;
  const progress = new Progress(log, clock);
  const metrics = registerMetrics(options, progress);
  const definitions = new DefinitionsInForce(store.config);
  const suppressed = new SuppressedIdChanges(digestKey);
  const outbox = new OutboxPublisher({ engine, log, clock, onPublished: metrics.published });
  const readers = new FreshReaders({
    log,
    clock,
    cursor: () => progress.status.cursor,
    onWaiting: (isUrgent) => {
      if (isUrgent || !definitions.isAnyInForce) loop.hurry();
    },
  });
  const checkpoints = new Checkpoints(engine, store.consumers, clock);
  const tasks = new Tasks({
    log,
    engine,
    clock,
    logger,
    metrics,
    progress,
    definitions,
    suppressed,
    outbox,
    readers,
    checkpoints,
  });
  const pace = new Pace({
    clock,
    progress,
    utilization: options.utilization,
    received: () => log.head() - BEFORE_FIRST,
    ownMessages: () => outbox.publishedMessages,
    isFollowed: () => definitions.isAnyInForce || readers.isAny,
    isAwaited: () => definitions.isAwaited || readers.hasUrgent,
  });
  const enqueue = serialQueue();
  const loop = new AudienceLoop({ tasks, pace, enqueue, clock, logger });
  return {
    options,
    enqueue,
    log,
    progress,
    definitions,
    suppressed,
    outbox,
    readers,
    checkpoints,
    tasks,
    pace,
    loop,
  };
}

/** Follows the log and the documents; returns a function that ends it. */
function listen({ options, log, definitions, suppressed, outbox, progress, loop }: Runner): () => void {
  const { store, engine, clock } = options;
  const stopListening = log.onAppend(() => loop.wake());
  const stopWatching = store.config.watch(({ kind, id, document }) => {
    if (kind === SUPPRESSION) {
      suppressed.add(id, document?.value as SuppressionDocument | undefined);
      loop.wake();
    }
    if (!DefinitionsInForce.isDefining(kind)) return;
    definitions.markStale();
    loop.wake();
    if (kind !== AUDIENCE && kind !== COMPUTED_TRAIT) return;
    const takenUp = definitions.takenUp();
    loop.hurry();
    return followInTime(takenUp, clock, loop.closing);
  });
  engine.onEmptied?.(() => {
    progress.lost();
    definitions.lost();
    outbox.markUncertain();
    loop.wake();
  });
  return () => {
    stopListening();
    stopWatching();
  };
}

/** Rejects when the engine cannot take up the definitions. */
async function takeUpFirst({ progress, tasks, enqueue }: Runner): Promise<void> {
  const takeUp = (): Promise<void> => enqueue(() => tasks.takeUpDefinitions());
  try {
    await takeUp();
  } catch (error) {
    // The file of profiles turned out to be damaged and was set aside: now there is a new one.
    if (!progress.wasLost) throw error;
    await takeUp();
  }
}

function audiencesOf(runner: Runner, stopListening: () => void): Audiences {
  const { options, definitions, progress, enqueue } = runner;
  const { engine, clock } = options;
  return {
    ...audienceQuestions({ ...runner, engine, clock }),
    requireInForce: (id, version) => definitions.require(id, version),
    sizes: async () =>
      (await engine.stats(progress.knownUpToMs))
        .filter(({ isComplete }) => isComplete)
        .map(({ id, size }) => ({ id, size })),
    engine: async () => ({
      behind: progress.behind,
      setAside: (await engine.setAside()).map(setAsideView),
    }),
    refusedJoins: ({ message: { type, userId, anonymousId, previousId }, sourceId, offset }) =>
      engine.refusedJoins({ type, userId, anonymousId, previousId }, { sourceId, offset }),
    identitiesOf: (identity, includeAliases) => engine.identitiesOf(identity, includeAliases),
    forget: (users) => enqueue(() => engine.forget(users, clock.now())),
    reset: (clearLog) =>
      enqueue(async () => {
        await clearLog();
        while (await engine.forgetSome(clock.now())) {
          // Each call is one unit of work.
        }
      }),
    compact: () => engine.compact(),
    beginSnapshot: (beginLog) =>
      enqueue(async () => {
        const profiles = await engine.beginSnapshot();
        try {
          return { profiles, log: await beginLog() };
        } catch (error) {
          await engine.endSnapshot();
          throw error;
        }
      }),
    snapshot: {
      read: (at, bytes) => engine.readSnapshot(at, bytes),
      end: () => engine.endSnapshot(),
    },
    close: () => close(runner, stopListening),
  };
}

async function close(
  { options, definitions, readers, loop }: Runner,
  stopListening: () => void,
): Promise<void> {
  stopListening();
  readers.close();
  await loop.close();
  definitions.close();
  await options.engine.close();
}
