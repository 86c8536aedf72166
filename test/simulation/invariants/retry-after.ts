import type { History, Post } from "../actors/history.js";
import { longestGapMs } from "../model/retries.js";
import type { CastDestination } from "../scenario/cast.js";
import type { Invariant, Life } from "./invariant.js";

const MOST_DOWNTIME_MS = 15 * 60_000;
/** Clocks that differ by less were not set. */
const SAME_MS = 1_000;

/** `Retry-After` is a minimum, within the window. */
export const retryAfter: Invariant = {
  name: "retry-after",
  promise:
    "After an answer with `Retry-After`, a message is not tried again at that URL before that time has passed, except for its last attempt at the end of the window, or if an administrator retries it. A restart does not forget the time.",
  check({ cast, messages, livesOf }) {
    return cast.destinations.flatMap((destination) =>
      messages.flatMap((message) => {
        const { offset, messageId } = message;
        const hurried = cast.history.stored.hurriedOf(destination.id, offset);
        return livesOf(destination, message).flatMap((life) =>
          destination.urls
            .flatMap((url) => tooSoon(life, url, { destination, hurried, history: cast.history, offset }))
            .map((wrong) => `${messageId} ${wrong}`),
        );
      }),
    );
  },
};

interface Around {
  readonly destination: CastDestination;
  readonly offset: number;
  /** When an administrator retried it. */
  readonly hurried: readonly number[];
  readonly history: History;
}

function tooSoon({ posts, replayedAtMs }: Life, url: string, around: Around): string[] {
  const { destination, hurried } = around;
  const own = posts.filter((post) => post.url === url);
  const [begin] = posts;
  return own.flatMap((post, index) => {
    const { ended } = post;
    const next = own[index + 1];
    if (begin === undefined || next === undefined || ended?.retryAfter === undefined) return [];
    if (hurried.some((atMs) => atMs >= ended.atMs && atMs <= next.atMs)) return [];
    if (next.run !== post.run && !isRemembered(post, next, around)) return [];
    if (next.run === post.run && next.deaths !== post.deaths && !isStored(post, next.atMs, around)) return [];
    // A restart with a clock that was set forward may take this much of the window.
    const lostMs = (next.run - begin.run) * MOST_DOWNTIME_MS;
    const { retryForMs } = destination.plan;
    const isLastPart =
      next.atMs >= (replayedAtMs ?? begin.atMs) + retryForMs - lostMs - longestGapMs(retryForMs);
    const waitedMs = next.atMs - ended.atMs;
    if (isLastPart || waitedMs >= Number(ended.retryAfter) * 1_000) return [];
    return [`was sent to ${url} ${waitedMs} ms after Retry-After: ${ended.retryAfter}`];
  });
}

/** Whether the next process must know of the wait: it was stored, and no clock was set meanwhile. */
function isRemembered(post: Post, next: Post, around: Around): boolean {
  const { run, ended } = post;
  const { history } = around;
  const [before, after] = [history.runs[run - 1], history.runs[next.run - 1]];
  if (next.run !== run + 1 || before === undefined || after === undefined || ended === undefined)
    return false;
  const shownMs = after.startedMonotonicMs - (before.startedMonotonicMs + ended.atMs - before.startedAtMs);
  const passedMs = after.startedAtMs - ended.atMs;
  return isStored(post, after.startedAtMs, around) && Math.abs(shownMs - passedMs) <= SAME_MS;
}

/** Whether the retry after a request was stored by then. */
function isStored({ ended }: Post, byMs: number, { destination, offset, history }: Around): boolean {
  return history.stored
    .retriesOf(destination.id, offset)
    .some((atMs) => ended !== undefined && atMs >= ended.atMs && atMs <= byMs);
}
