import type { DestinationHealthView, UrlHealthView } from "@sluice/control-api";
import type { LastTried, TriedFacts } from "./last-tried.js";

/** From so many rounds in the last minute on, their share decides. Below, the last round decides. */
const ENOUGH_ROUNDS = 10;
/** So many failures in a row are failing, whatever happened earlier in the minute. */
const FAILURES_IN_A_ROW = 10;
const FAILING_SHARE = 0.5;
const RETRYING_SHARE = 0.05;
/** A destination is behind if so many messages wait, or if an unread one is older than this. */
const BEHIND_MESSAGES = 10_000;
const BEHIND_MS = 60_000;

/** What is known about a destination, by itself or of its URLs. */
export interface HealthFacts {
  readonly isEnabled: boolean;
  /** It cannot be opened with its settings. */
  readonly cannotOpen: boolean;
  /** Its breaker is open or probing. */
  readonly isBackingOff: boolean;
  readonly tried: TriedFacts;
  /** Empty for a type without URLs. */
  readonly urls: readonly UrlFacts[];
  /** Messages that it has to send, unread ones and retries, without those that it will skip. */
  readonly waiting: number;
  /** When the oldest unread message was received, if there is any. */
  readonly oldestUnreadMs: number | undefined;
  readonly nowMs: number;
}

export interface UrlFacts {
  readonly url: string;
  readonly state:
    | { readonly kind: "called"; readonly tried: TriedFacts }
    /** It answered 410 Gone. */
    | { readonly kind: "disabled"; readonly sinceMs: number | undefined };
}

export interface Health<H extends string = DestinationHealthView> {
  readonly health: H;
  /** Why, as a sentence without a full stop. */
  readonly reason: string;
  readonly sinceMs?: number;
}

/** The one health model. The control API, metrics, pages, commands and alerts all use it. */
export function judgeHealth(facts: HealthFacts): Health {
  if (!facts.isEnabled) return disabled(facts);
  const { tried, urls } = facts;
  const disabledUrls = urls.filter(({ state }) => state.kind === "disabled");
  if (urls.length > 0 && disabledUrls.length === urls.length) return urlsDisabled(facts, disabledUrls);
  if (facts.cannotOpen) return { health: "failing", ...failure(tried, "It cannot be opened") };
  if (facts.isBackingOff) return { health: "backing_off", ...failure(tried, "The last attempts failed") };
  return (
    partlyFailing(urls) ??
    triedHealth(tried, "failing") ??
    partlyDisabled(urls, disabledUrls) ??
    triedHealth(tried, "retrying") ??
    behind(facts) ??
    (tried.last.kind === "nothing"
      ? { health: "idle", reason: "It has no delivery yet" }
      : { health: "good", reason: "The last delivery succeeded" })
  );
}

/** The health of one URL. */
export function judgeUrl({ state }: Pick<UrlFacts, "state">): Health<UrlHealthView["health"]> {
  if (state.kind === "disabled")
    return {
      health: "url_disabled",
      reason: "It answered 410 Gone, so nothing is sent to it",
      ...since(state),
    };
  return (
    triedHealth(state.tried, "failing") ??
    triedHealth(state.tried, "retrying") ??
    (state.tried.last.kind === "nothing"
      ? { health: "idle", reason: "It has had no attempt since the destination was opened" }
      : { health: "good", reason: "The last attempt succeeded" })
  );
}

/** `failing` or `retrying`, if the rounds say so. */
function triedHealth<H extends "failing" | "retrying">(tried: TriedFacts, health: H): Health<H> | undefined {
  if (verdictOf(tried) !== health) return undefined;
  const { recent, last, lastError = "" } = tried;
  // A single failure is described by its error; a share needs its numbers.
  if (last.kind === "failed" && (recent.rounds < ENOUGH_ROUNDS || recent.failed === recent.rounds))
    return { health, reason: last.error, sinceMs: last.sinceMs };
  const share = `${plural(recent.failed, "attempt")} of ${count(recent.rounds)} failed in the last minute`;
  return { health, reason: `${share}, the latest with: ${lastError}`, ...sinceFailed(last) };
}

function verdictOf({ last, recent }: TriedFacts): "failing" | "retrying" | "fine" {
  if (recent.rounds < ENOUGH_ROUNDS) return last.kind === "failed" ? "failing" : "fine";
  const share = recent.failed / recent.rounds;
  if (share >= FAILING_SHARE || (last.kind === "failed" && last.inARow >= FAILURES_IN_A_ROW))
    return "failing";
  return share >= RETRYING_SHARE ? "retrying" : "fine";
}

function disabled({ waiting }: HealthFacts): Health {
  const kept =
    waiting === 0
      ? ""
      : `, and ${plural(waiting, "earlier message")} ${waiting === 1 ? "stays" : "stay"} in the backlog`;
  return { health: "disabled", reason: `It is disabled, so new messages are skipped${kept}` };
}

function urlsDisabled({ urls }: HealthFacts, disabledUrls: readonly UrlFacts[]): Health {
  const which = urls.length === 1 ? "Its URL" : `All ${urls.length} URLs`;
  return {
    health: "url_disabled",
    reason: `${which} answered 410 Gone, so nothing is sent`,
    ...latest(disabledUrls),
  };
}

function partlyDisabled(urls: readonly UrlFacts[], disabledUrls: readonly UrlFacts[]): Health | undefined {
  if (disabledUrls.length === 0) return undefined;
  const names = disabledUrls.map(({ url }) => url).join(", ");
  return {
    health: "partly_disabled",
    reason: `${disabledUrls.length} of ${urls.length} URLs answered 410 Gone and ${disabledUrls.length === 1 ? "gets" : "get"} nothing: ${names}`,
    ...latest(disabledUrls),
  };
}

/** Some URLs fail while another one accepts messages. */
function partlyFailing(urls: readonly UrlFacts[]): Health | undefined {
  const judged = urls.map((one) => ({ url: one.url, ...judgeUrl(one) }));
  const failing = judged.filter(({ health }) => health === "failing");
  const [first] = failing;
  if (first === undefined || !judged.some(({ health }) => health === "good" || health === "retrying"))
    return undefined;
  const { url, reason } = first;
  return {
    health: "partly_failing",
    reason: `${failing.length} of ${urls.length} URLs ${failing.length === 1 ? "fails" : "fail"}: ${url}: ${reason}`,
    ...(first.sinceMs === undefined ? {} : { sinceMs: first.sinceMs }),
  };
}

function behind({ waiting, oldestUnreadMs, nowMs }: HealthFacts): Health | undefined {
  const ageMs = oldestUnreadMs === undefined ? 0 : nowMs - oldestUnreadMs;
  if (waiting < BEHIND_MESSAGES && ageMs <= BEHIND_MS) return undefined;
  const age = ageMs > BEHIND_MS ? `, and the oldest unread one is ${duration(ageMs)} old` : "";
  return {
    health: "behind",
    reason: `${plural(waiting, "message")} ${waiting === 1 ? "waits" : "wait"}${age}`,
    ...(oldestUnreadMs === undefined ? {} : { sinceMs: oldestUnreadMs }),
  };
}

function failure({ last, lastError }: TriedFacts, prefix: string): Omit<Health, "health"> {
  const error = last.kind === "failed" ? last.error : (lastError ?? "attempts failed");
  return { reason: `${prefix}: ${error}`, ...sinceFailed(last) };
}

function sinceFailed(last: LastTried): { readonly sinceMs?: number } {
  return last.kind === "failed" ? { sinceMs: last.sinceMs } : {};
}

function since({ sinceMs }: { readonly sinceMs: number | undefined }): { readonly sinceMs?: number } {
  return sinceMs === undefined ? {} : { sinceMs };
}

/** When the last of the URLs was disabled. */
function latest(urls: readonly UrlFacts[]): { readonly sinceMs?: number } {
  const times = urls.flatMap(({ state }) => (state.kind === "disabled" ? (state.sinceMs ?? []) : []));
  return times.length === 0 ? {} : { sinceMs: Math.max(...times) };
}

function count(value: number): string {
  return value.toLocaleString("en-US");
}

function plural(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** Whole minutes, hours or days. */
function duration(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`;
}
