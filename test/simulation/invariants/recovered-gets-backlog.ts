import type { History, Post } from "../actors/history.js";
import { longestGapMs } from "../model/retries.js";
import type { CastDestination } from "../scenario/cast.js";
import type { Spell } from "../world/spells.js";
import type { FinishedRun, Invariant } from "./invariant.js";

/** A destination that is down is probed this often at least. */
const PROBED_EVERY_MS = 120_000;
/** Failed attempts in a row after which it counts as down, and after which the next delivery is a recovery. */
const DOWN_AFTER = 10;
const OUTAGE = 3;
/** Turns of the event loop, syncs, and the way there and back. */
const SOON_MS = 1_000;
/** The most that one more message may take: its answer, and the sync that lets the next one of its user start. */
const EACH_MS = 300;

/** A destination that works again. */
export const recoveredGetsBacklog: Invariant = {
  name: "recovered-gets-backlog",
  promise:
    "A destination that was down is probed within two minutes after it works again, or when the first waiting message is due. From the first delivery on, every message that had failed is sent at once, one after another, unless a `Retry-After` asks for more.",
  check(run) {
    const { scenario, cast } = run;
    if (scenario.steps.some(({ kind }) => ["disk", "cluster", "race", "worker"].includes(kind))) return [];
    return cast.destinations.flatMap((destination, index) => {
      // What one URL does says nothing about a destination with others. Changes of a destination begin everything again.
      const isChanged = scenario.steps.some(
        (step) => (step.kind === "settings" || step.kind === "operation") && step.destination === index,
      );
      const [url] = destination.urls;
      if (destination.urls.length > 1 || url === undefined || isChanged) return [];
      return cast.receivers
        .of(url)
        .spells.good(cast.world.elapsedMs)
        .flatMap((spell) => lateIn(spell, destination, run));
    });
  },
};

/** What came too late in a time in which the receiver took everything and the collector ran. */
function lateIn(spell: Spell, destination: CastDestination, run: FinishedRun): string[] {
  const [url] = destination.urls;
  const posts = run.cast.history.posts.filter((post) => post.url === url);
  const before = posts.filter(({ atMs }) => atMs < spell.fromMs);
  const [probe] = posts.filter(({ atMs }) => atMs >= spell.fromMs);
  const upToMs = Math.min(spell.untilMs, endOfRun(run.cast.history, before.at(-1)?.run));
  if (!hasFailed(before.slice(-OUTAGE), OUTAGE)) return [];
  const wrong: string[] = [];
  const waiting = waitingAt(spell.fromMs, destination, run);
  if (hasFailed(before.slice(-DOWN_AFTER), DOWN_AFTER) && waiting.length > 0) {
    const probedMs = Math.max(spell.fromMs, ...before.slice(-DOWN_AFTER).map(askedUntil)) + PROBED_EVERY_MS;
    const latestMs = Math.max(probedMs, firstDueMs(waiting, before, destination)) + SOON_MS;
    if (latestMs < upToMs && (probe === undefined || probe.atMs > latestMs))
      wrong.push(`${destination.plan.name} worked again at ${spell.fromMs} and was probed at ${probe?.atMs}`);
  }
  if (probe?.ended?.what !== "200") return wrong;
  const { atMs: recoveredMs } = probe.ended;
  const ended = new Set(
    posts
      .filter((post) => post.ended?.what === "200" && post.atMs <= recoveredMs)
      .map(({ messageId }) => messageId),
  );
  for (const messageId of waiting) {
    if (ended.has(messageId)) continue;
    const own = posts.filter((post) => post.messageId === messageId);
    const next = own.find(({ atMs }) => atMs > recoveredMs);
    const from = own
      .filter(({ atMs }) => atMs <= recoveredMs)
      .flatMap((post) => [askedUntil(post), endedAt(post)]);
    const meanwhile = posts.filter(({ atMs }) => atMs >= spell.fromMs && atMs < (next?.atMs ?? upToMs));
    const latestMs = Math.max(recoveredMs, ...from) + SOON_MS + EACH_MS * (waiting.length + meanwhile.length);
    if (latestMs < upToMs && (next === undefined || next.atMs > latestMs))
      wrong.push(
        `${messageId} waited for ${destination.plan.name} until ${next?.atMs}; it worked again at ${recoveredMs}`,
      );
  }
  return wrong;
}

/** A probe is a message that is due. */
function firstDueMs(waiting: readonly string[], before: readonly Post[], { plan }: CastDestination): number {
  const last = waiting.map((id) => before.findLast(({ messageId }) => messageId === id)?.ended?.atMs ?? 0);
  return Math.min(...last) + longestGapMs(plan.retryForMs);
}

function hasFailed(posts: readonly Post[], count: number): boolean {
  const [first] = posts;
  return (
    posts.length === count &&
    posts.every(({ ended, run }) => run === first?.run && ended !== undefined && isOutage(ended.what))
  );
}

/** Not an answer that refuses one message. */
function isOutage(what: string): boolean {
  return !/^\d/.test(what) || what === "429" || (what.startsWith("5") && what !== "501");
}

/** An attempt from before the recovery may hang until its time limit. */
function endedAt({ ended }: Post): number {
  return ended?.atMs ?? 0;
}

function askedUntil({ ended }: Post): number {
  return ended?.retryAfter === undefined ? 0 : ended.atMs + Number(ended.retryAfter) * 1_000;
}

/** The messages that had failed by then, and had no outcome. */
function waitingAt(
  atMs: number,
  destination: CastDestination,
  { cast, messages, livesOf, postsOf }: FinishedRun,
): string[] {
  return messages.flatMap((message) => {
    const [life] = livesOf(destination, message);
    const failed = postsOf(destination, message.messageId).filter((post) => post.atMs < atMs);
    const isOver = life?.outcomes.some((outcome) => outcome.atMs <= atMs) === true;
    const isPurged = cast.history.purges.length > 0;
    return failed.length === 0 || isOver || isPurged ? [] : [message.messageId];
  });
}

function endOfRun({ runs }: History, run = 0): number {
  return runs[run - 1]?.ended?.atMs ?? Number.POSITIVE_INFINITY;
}
