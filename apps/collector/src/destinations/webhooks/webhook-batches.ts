import { hash } from "node:crypto";
import type { Clock } from "@sluice/resilience";
import { Batches, type Item } from "../batches/batches.js";
import type {
  AttemptTrace,
  BatchControl,
  Destination,
  Flow,
  OutgoingMessage,
  Round,
  RoundOutcome,
} from "../destination.js";
import type { UrlResult } from "./conclude-round.js";
import { batchBody, requestBody } from "./request/request-body.js";
import type { BatchSettings, WebhooksSettings } from "./settings/settings.js";
import type { Target } from "./webhook-target.js";
import type { WebhookUrls } from "./webhook-urls.js";

interface Policy extends Pick<WebhooksSettings, "payload" | "success" | "order" | "rateLimit"> {
  readonly batch: BatchSettings;
}

/** The longest body with several messages, in bytes: what `@sluice/webhooks` reads. */
const MOST_BYTES = 1_048_576;
/** Of a batch that was too large. Its halves are below this, and a later one is cut before it is sent. */
const SMALLER = 0.75;
/** One message of several may be the cause of these: sent in halves, only messages that are refused alone fail. */
const REFUSED_DATA: ReadonlySet<string> = new Set(["http_400", "http_413", "http_422"]);
const TOO_LARGE = "http_413";

/** Posts several messages in a request, one request at a time. */
export class WebhookBatches implements Destination {
  readonly flow: Flow;
  readonly #urls: WebhookUrls;
  readonly #policy: Policy;
  readonly #batches: Batches;
  /** Falls when a receiver says that a batch is too large. */
  #mostBytes = MOST_BYTES;

  constructor(urls: WebhookUrls, policy: Policy, clock: Clock) {
    const { order, rateLimit, batch } = policy;
    const { maxMessages } = batch;
    // While one batch is sent, the next one is gathered.
    const concurrency = 2 * maxMessages;
    this.flow = { concurrency, order, ...(rateLimit === undefined ? {} : { perSecond: rateLimit }) };
    this.#urls = urls;
    this.#policy = policy;
    this.#batches = new Batches({ clock, ...batch, send: ({ items }) => this.#send(items) });
  }

  get batches(): BatchControl {
    return this.#batches;
  }

  deliver(message: OutgoingMessage, round: Round): Promise<RoundOutcome> {
    return this.#batches.deliver(message, round);
  }

  close(): Promise<void> {
    this.#batches.close();
    return this.#urls.close();
  }

  /** After an attempt, messages may have to go to different URLs. Those that go to the same ones share a batch. */
  async #send(items: readonly Item[]): Promise<readonly RoundOutcome[]> {
    const outcomes = new Map<Item, RoundOutcome>();
    const groups = Map.groupBy(items, ({ round }) =>
      this.#urls
        .openFor(round)
        .map(({ url }) => url)
        .join(" "),
    );
    for (const members of groups.values()) {
      const [first] = members;
      const open = first === undefined ? [] : this.#urls.openFor(first.round);
      const results = open.length === 0 ? members.map(() => []) : await this.#post(members, open);
      members.forEach((item, index) => {
        outcomes.set(item, this.#urls.conclude(results[index] ?? [], item.round));
      });
    }
    return items.map((item) => outcomes.get(item) ?? { kind: "aborted" });
  }

  /** Posts messages to URLs. Resolves with the results of each message. */
  async #post(items: readonly Item[], open: readonly Target[]): Promise<readonly (readonly UrlResult[])[]> {
    const bodies = items.map(({ message }) => requestBody(message, this.#policy));
    const body = Buffer.from(batchBody(bodies));
    if (items.length > 1 && body.byteLength > this.#mostBytes) return this.#postHalves(items, open);
    const round = sharedRound(items.map((item) => item.round));
    const results = await this.#urls.post(open, { id: batchId(items), body, round });
    const isDelivered =
      this.#policy.success === "any" && results.some(({ verdict }) => verdict.kind === "accepted");
    const refusing = new Set(results.filter(isAboutData).map(({ url }) => url));
    if (items.length === 1 || isDelivered || refusing.size === 0) return items.map(() => results);
    if (results.some((result) => codeOf(result) === TOO_LARGE)) this.#mostBytes = SMALLER * body.byteLength;
    for (const item of items) item.round.repeat();
    const halves = await this.#postHalves(
      items,
      open.filter(({ url }) => refusing.has(url)),
    );
    const kept = results.filter(({ url }) => !refusing.has(url));
    return halves.map((again) => [...kept, ...again]);
  }

  async #postHalves(
    items: readonly Item[],
    open: readonly Target[],
  ): Promise<readonly (readonly UrlResult[])[]> {
    const half = Math.ceil(items.length / 2);
    return [
      ...(await this.#post(items.slice(0, half), open)),
      ...(await this.#post(items.slice(half), open)),
    ];
  }
}

/** The same for the same messages, however often they are sent together. */
function batchId(items: readonly Item[]): string {
  const ids = items.map(({ message }) => message.messageId);
  return `batch_${hash("sha256", JSON.stringify(ids)).slice(0, 32)}`;
}

function isAboutData(result: UrlResult): boolean {
  return REFUSED_DATA.has(codeOf(result) ?? "");
}

function codeOf({ verdict }: UrlResult): string | undefined {
  return "error" in verdict ? verdict.error.code : undefined;
}

/** The round of messages that are sent together: what happens to one of them happens to all. They go to the same URLs. */
function sharedRound(rounds: readonly Round[]): Round {
  const [first] = rounds;
  if (first === undefined) throw new TypeError("There is no round without a message");
  if (rounds.length === 1) return first;
  const traces = new Map<AttemptTrace, readonly (AttemptTrace | undefined)[]>();
  return {
    number: most(rounds.map(({ number }) => number)),
    isAgain: first.isAgain,
    numberAt: (url) => most(rounds.map((round) => round.numberAt(url))),
    isLast: rounds.every(({ isLast }) => isLast),
    waitingUrls: first.waitingUrls,
    doneUrls: first.doneUrls,
    failedUrls: first.failedUrls,
    startTrace() {
      const started = rounds.map((round) => round.startTrace?.());
      if (started.every((trace) => trace === undefined)) return undefined;
      // The request belongs to several traces, and can name none of them.
      const shared: AttemptTrace = { headers: [] };
      traces.set(shared, started);
      return shared;
    },
    record(attempt, trace) {
      const started = trace === undefined ? undefined : traces.get(trace);
      rounds.forEach((round, index) => {
        round.record(attempt, started?.[index]);
      });
    },
    repeat() {
      for (const round of rounds) round.repeat();
    },
    gone: (url) => first.gone(url),
  };
}

function most(numbers: readonly number[]): number {
  return numbers.reduce((one, other) => Math.max(one, other));
}
