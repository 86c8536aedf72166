import {
  AUDIENCE,
  type AudienceDocument,
  COMPUTED_TRAIT,
  type ComputedTraitDocument,
} from "@sluice/audiences";
import type { OperationView } from "@sluice/control-api";
import type { Delivery, Offset, StoredMessage } from "@sluice/event-log";
import { BEFORE_FIRST } from "@sluice/event-log";
import { ApiError } from "./actors/call-api.js";
import type { History, Post } from "./actors/history.js";
import { INVARIANTS } from "./invariants/index.js";
import type { AtRest, FinishedRun, Life, Usage } from "./invariants/invariant.js";
import { ownerOf } from "./model/identities.js";
import { endOf, messagesIn } from "./model/stored-messages.js";
import { assemble, type Cast, type CastDestination, enabling, everyDestination } from "./scenario/cast.js";
import { insist } from "./scenario/insist.js";
import type { Scenario } from "./scenario/scenario.js";
import { inForce } from "./scenario/steps/transformation.js";
import { runStep } from "./scenario/steps.js";
import { takeOverEventLoop } from "./world/determinism.js";
import { GOOD_DISK } from "./world/disk.js";
import { answerFilesAtOnce } from "./world/files.js";
import { FAIR } from "./world/link.js";
import { simulatePorts } from "./world/ports.js";
import { seededRandom } from "./world/random.js";
import { FOLDER_PREFIX } from "./world/sqlite-folder.js";
import { World } from "./world/world.js";

export interface Violation {
  readonly invariant: string;
  readonly what: string;
}

export interface RunResult {
  readonly seed: number;
  readonly violations: readonly Violation[];
  /** The same for every run of the same scenario. */
  readonly traceHash: string;
  readonly simulatedMs: number;
  readonly messages: number;
  readonly posts: number;
}

export interface RunOptions {
  /** Gets each line of the trace. */
  readonly print?: (line: string) => void;
}

/** How often the end of the deliveries is looked for, and for how long at most. */
const LOOK_EVERY_MS = 10 * 60_000;
const LONGEST_END_MS = 30 * 3_600_000;
/** How long the backlog of receivers that were dead all that time is waited for. */
const REVIVED_MS = 6 * 3_600_000;
/** Longer than any `Retry-After` that a destination is given: after this time without a request, none follows. */
const QUIET_MS = 5 * 3_600_000;
const CLOSE_MS = 60_000;

/** Runs a scenario, and checks every invariant after it. */
export async function runScenario(scenario: Scenario, options: RunOptions = {}): Promise<RunResult> {
  const random = seededRandom(scenario.seed, "world");
  const loop = takeOverEventLoop(random.fork("node"));
  const restoreFiles = answerFilesAtOnce(FOLDER_PREFIX);
  const world = new World(random, loop, options.print);
  const restorePorts = simulatePorts(world);
  /** A rejection that nobody handles ends a real process. */
  const unhandled: Violation[] = [];
  const onUnhandled = (error: unknown): void => {
    const what = `unhandled rejection: ${error instanceof Error ? error.stack : String(error)}`;
    unhandled.push({ invariant: "runs-to-its-end", what });
  };
  process.on("unhandledRejection", onUnhandled);
  let cast: Cast | undefined;
  try {
    cast = await assemble(scenario, world);
    await play(scenario, cast);
    await heal(cast);
    cast.collector.notePeak();
    setPostsOfReplacedAside(cast.history);
    const { messages } = cast.collector.store.stats();
    const violations = await judge(scenario, cast);
    return {
      seed: scenario.seed,
      violations: [...unhandled, ...violations],
      traceHash: world.trace.digest(),
      simulatedMs: world.elapsedMs,
      messages,
      posts: cast.history.posts.length,
    };
  } finally {
    process.off("unhandledRejection", onUnhandled);
    await cast?.folder?.remove();
    cast?.profiles.remove();
    cast?.cluster?.remove();
    restorePorts();
    restoreFiles();
    loop.restore();
  }
}

async function play({ steps }: Scenario, cast: Cast): Promise<void> {
  const { world } = cast;
  const beganMs = world.elapsedMs;
  for (const step of steps) {
    await world.pass(Math.max(0, beganMs + step.atMs - world.elapsedMs));
    runStep(step, cast);
  }
}

/**
 * Ends every fault except dead receivers, lets the applications send what they hold, and waits until nothing is under way. In order, messages
 * wait a window each at a dead receiver: if they still do after a day, it works again.
 */
async function heal(cast: Cast): Promise<void> {
  const { world, disk, receivers, sdks, sources, collector } = cast;
  // Applications and collectors that are down start again, and messages that are on the agenda are sent.
  await world.pass(4 * 3_600_000);
  disk.health = GOOD_DISK;
  for (const sdk of sdks) {
    sdk.link.weather = FAIR;
    sdk.front = undefined;
  }
  for (const receiver of receivers.all()) {
    receiver.link.weather = FAIR;
    if (!receiver.isDead) receiver.behaviour = { kind: "takes" };
  }
  await world.until(collector.start(), 600_000, "the last start of the collector");
  // Of two changes that waited for an owner together, the one that disables it may have been carried out last.
  for (const destination of cast.destinations)
    if (destination.wasDisabled) {
      const { id } = destination;
      enabling(destination, world.elapsedMs);
      const enabled = insist(world, () => collector.api("PATCH", `/destinations/${id}`, { enabled: true }));
      await world.until(enabled, 600_000, "the last change of a destination");
    }
  if (cast.warehouse !== undefined) {
    const { id, server } = cast.warehouse;
    server.behaviour = { kind: "takes" };
    const enabled = insist(world, () => collector.api("PATCH", `/destinations/${id}`, { enabled: true }));
    await world.until(enabled, 600_000, "the last change of the warehouse");
  }
  await mend(cast);
  for (const { id } of sources) {
    cast.history.ends.push({ sourceId: id, atMs: world.elapsedMs, isDone: true });
    const lifted = insist(world, async () => {
      await collector.api("PATCH", `/sources/${id}`, { rateLimit: null, blockedEvents: [] });
      await collector.api("DELETE", `/sources/${id}/plan`).catch(() => {});
    });
    await world.until(lifted, 600_000, "the last change of a source");
  }
  for (const sdk of sdks) {
    sdk.disk.freeBytes = Number.POSITIVE_INFINITY;
    sdk.start();
    sdk.running?.setEnabled(true, false);
  }
  await closeAll(cast);
  // A process that starts sends what one has left that ended after it had begun.
  for (const sdk of sdks) if (sdk.plan.spools) sdk.start();
  await closeAll(cast);
  await untilQuiet(cast, LONGEST_END_MS);
  const dead = receivers.all().filter(({ isDead }) => isDead);
  if (dead.length === 0 || !(await isBusy(cast))) return;
  for (const receiver of dead) receiver.behaviour = { kind: "takes" };
  await untilQuiet(cast, REVIVED_MS);
}

/** Until nothing is under way, or nothing has been sent for a while. */
async function untilQuiet(cast: Cast, mostMs: number): Promise<void> {
  const { world } = cast;
  const untilMs = world.elapsedMs + mostMs;
  let quietSinceMs = world.elapsedMs;
  for (let posts = 0; world.elapsedMs < Math.min(untilMs, quietSinceMs + QUIET_MS); ) {
    await world.pass(LOOK_EVERY_MS);
    if (!(await isBusy(cast))) break;
    const sent = cast.history.posts.length + (cast.warehouse?.server.attempts.length ?? 0);
    if (sent > posts) quietSinceMs = world.elapsedMs;
    posts = sent;
  }
}

/** Puts code in force that lets everything pass, and retries what other code failed for. */
async function mend({ world, collector, destinations }: Cast): Promise<void> {
  for (const destination of destinations) {
    const { transformation, id } = destination;
    if (transformation === undefined) continue;
    const mended = insist(world, async () => {
      const path = `/transformations/${transformation.id}`;
      inForce(destination, await collector.api("PATCH", path, { code: "passes all" }), world.elapsedMs);
      const filter = { destinationId: id, cause: "transform_failed" };
      await collector.api("POST", "/operations", { kind: "retry", filter, perSecond: 200 });
    });
    await world.until(mended, 600_000, "the last change of a transformation");
  }
}

async function closeAll({ world, sdks }: Cast): Promise<void> {
  await Promise.all(
    sdks.map((sdk) => world.until(sdk.close(CLOSE_MS), 2 * CLOSE_MS, "close() of an application")),
  );
}

/** What a process sends after another one replaced it is in no promise but one: it never had a chance to store the result. */
function setPostsOfReplacedAside({ posts, postsOfReplaced, runs }: History): void {
  const isLate = ({ run, atMs }: Post): boolean => {
    const { ended, wasReplaced } = runs[run - 1] ?? {};
    return wasReplaced === true && ended !== undefined && atMs > ended.atMs;
  };
  postsOfReplaced.push(...posts.filter(isLate));
  posts.splice(0, posts.length, ...posts.filter((post) => !isLate(post)));
}

async function isBusy({ collector, ...cast }: Cast): Promise<boolean> {
  for (const { id } of everyDestination(cast)) {
    const { behind, retries } = await collector.store.consumers.backlog(id);
    if (behind + retries > 0) return true;
  }
  return false;
}

async function judge(scenario: Scenario, cast: Cast): Promise<Violation[]> {
  const { log, consumers } = cast.collector.store;
  const messages: StoredMessage[] = [];
  let logText = "";
  for (let after = BEFORE_FIRST; ; ) {
    const batches = await log.read(after, { messages: 10_000, bytes: 2 ** 30 });
    const last = batches.at(-1);
    if (last === undefined) break;
    after = endOf(last, last.first);
    for (const { body } of batches) logText += Buffer.from(body).toString("latin1");
    messages.push(...batches.flatMap((batch) => messagesIn(batch, batch.first)));
  }
  const deliveries = new Map<string, Delivery>();
  for (const { offset } of messages)
    for (const delivery of await consumers.outcomesOf(offset))
      deliveries.set(`${delivery.consumerId} ${offset}`, delivery);
  const posts = new Map<string, Post[]>();
  for (const post of cast.history.posts) {
    const { id } = cast.destinations.find(({ urls }) => urls.includes(post.url)) ?? { id: "" };
    const key = `${id} ${post.messageId}`;
    posts.set(key, [...(posts.get(key) ?? []), post]);
  }
  const usage = new Map<string, Usage>();
  for (const { id } of cast.sources) usage.set(id, summed(await cast.collector.store.usage.days(id)));
  const run: FinishedRun = {
    scenario,
    cast,
    messages,
    dropped: droppedMessages(cast, messages),
    logText,
    audiences: await cast.collector.store.config.list<AudienceDocument>(AUDIENCE),
    counts: await cast.collector.store.config.list<ComputedTraitDocument>(COMPUTED_TRAIT),
    deletions: await deletionsOf(cast),
    profileIds: await profilesOf(cast),
    postsOf: ({ id }, messageId) => posts.get(`${id} ${messageId}`) ?? [],
    livesOf: ({ id }, { offset, messageId }) =>
      livesOf(cast.history, id, offset, posts.get(`${id} ${messageId}`) ?? []),
    operations: await operationsOf(cast),
    atRest: await atRest(cast),
    copies: (await cast.cluster?.copies()) ?? [],
    usageOf: (sourceId) => usage.get(sourceId) ?? summed([]),
    deliveryOf: (destination: Pick<CastDestination, "id">, offset: Offset) =>
      deliveries.get(`${destination.id} ${offset}`),
  };
  return INVARIANTS.flatMap(({ name, check }) => check(run).map((what) => ({ invariant: name, what })));
}

/** What was stored and is not in the log, apart from what a deletion removed. */
function droppedMessages({ history }: Cast, messages: readonly StoredMessage[]): StoredMessage[] {
  const inLog = new Set(messages.map(({ offset }) => offset));
  return history.appended.messages.flatMap(({ message: stored, atMs }) => {
    const { offset, message } = stored;
    const owner = ownerOf(message);
    const isPurged =
      message.type === "delete" ||
      history.purges.some((purge) => purge.identities.includes(owner) && purge.atMs >= atMs);
    return inLog.has(offset) || isPurged ? [] : [stored];
  });
}

function livesOf(
  { stored }: History,
  destinationId: string,
  offset: Offset,
  posts: readonly Post[],
): readonly Life[] {
  const replays = stored.replaysOf(destinationId, offset);
  const outcomes = stored.outcomesOf(destinationId, offset);
  return [undefined, ...replays].map((replayedAtMs, index) => {
    const fromMs = replayedAtMs ?? 0;
    const untilMs = replays[index] ?? Number.POSITIVE_INFINITY;
    return {
      ...(replayedAtMs === undefined ? {} : { replayedAtMs }),
      posts: posts.filter(({ atMs }) => atMs >= fromMs && atMs < untilMs),
      // The outcome of one life comes before the replay that begins the next, perhaps in the same millisecond.
      outcomes: outcomes.slice(index, index === replays.length ? undefined : index + 1),
    };
  });
}

async function atRest({ world, collector, destinations }: Cast): Promise<AtRest> {
  const { timers } = collector;
  const backlogs = new Map<string, { readonly behind: number; readonly retries: number }>();
  for (const { id } of destinations) backlogs.set(id, await collector.store.consumers.backlog(id));
  return { timers, backlogs, metrics: await world.until(collector.metrics(), 60_000, "GET /metrics") };
}

async function operationsOf({ world, collector }: Cast): Promise<readonly OperationView[]> {
  const { items } = (await world.until(collector.api("GET", "/operations"), 60_000, "GET /operations")) as {
    items: readonly OperationView[];
  };
  return items;
}

async function deletionsOf({ world, collector, history }: Cast): Promise<Map<string, string>> {
  const states = new Map<string, string>();
  for (const { id } of history.deletions) {
    const asked = collector.api("GET", `/deletions/${id}`) as Promise<{ readonly status: string }>;
    // One that is gone is up to the invariant.
    const found = asked.catch((error: unknown) => {
      if (error instanceof ApiError && typeof error.answer === "object" && error.answer.status === 404)
        return undefined;
      throw error;
    });
    const status = (await world.until(found, 1_000, "GET /deletions"))?.status;
    if (status !== undefined) states.set(id, status);
  }
  return states;
}

async function profilesOf({ world, collector }: Cast): Promise<Set<string>> {
  const { items } = (await world.until(collector.api("GET", "/profiles"), 60_000, "GET /profiles")) as {
    items: readonly { userId?: string }[];
  };
  return new Set(items.flatMap(({ userId }) => userId ?? []));
}

function summed(days: readonly Usage[]): Usage {
  const sum = { accepted: 0, delivered: 0, filtered: 0 };
  for (const { accepted, delivered, filtered } of days) {
    sum.accepted += accepted;
    sum.delivered += delivered;
    sum.filtered += filtered;
  }
  return sum;
}
