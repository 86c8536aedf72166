import { SpoolDirectory } from "../../../packages/node/src/spool/spool-directory.js";
import type { FrontStep } from "../scenario/steps/front.js";
import { type Listeners, simulatedBuiltIns } from "../world/application/built-ins.js";
import { ApplicationDisk } from "../world/application/disk.js";
import { Link } from "../world/link.js";
import { Machine, ProcessClock } from "../world/machine.js";
import type { Random } from "../world/random.js";
import type { World } from "../world/world.js";
import type { History } from "./history.js";
import type { ServedAnswer } from "./memory-server.js";
import { type CallFields, type CallKind, SdkRun } from "./sdk-run.js";
import type { Site } from "./site.js";

export interface SdkPlan {
  readonly name: string;
  /** The index of its source. */
  readonly source: number;
  readonly flushAt: number;
  readonly flushAfterMs: number;
  readonly maxInFlight: number;
  readonly maxRetries: number;
  readonly maxTotalRetryMs: number;
  readonly maxQueueSize: number;
  readonly eager: boolean;
  /** Keeps unsent messages on disk. */
  readonly spools: boolean;
  readonly spoolBytes: number;
  /** What its `beforeSend` returns: messages, or promises of messages. */
  readonly hooks: "none" | "sync" | "async";
}

export interface SdkActorOptions {
  readonly world: World;
  readonly history: History;
  readonly collector: Site;
  readonly plan: SdkPlan;
  readonly sourceId: string;
  readonly writeKey: string;
}

/** How another client of the same source writes its requests. */
export type Dialect = "batch" | "key in body" | "one each";

const SPOOL_FOLDER = "/var/spool";

/** An application with the SDK, on a machine of its own. Its processes end with a crash, a power cut, at once, or with `close()`. */
export class SdkActor {
  readonly machine: Machine;
  readonly link: Link;
  readonly disk: ApplicationDisk;
  /** What answers a share of the requests instead of the collector. */
  front: Pick<FrontStep, "status" | "share" | "retryAfter"> | undefined;
  readonly #options: SdkActorOptions;
  readonly #listeners: Listeners = new Map();
  /** The latest one, and those that still close. */
  #running: SdkRun | undefined;
  readonly #closing = new Set<SdkRun>();
  readonly #atFront: Random;
  #refusals = 0;
  #runs = 0;
  #made = 0;
  /** So many changes of the disk from now on, the process ends in the middle of one. */
  #endsAfterChanges: { left: number; readonly cutsPower: boolean } | undefined;

  constructor(options: SdkActorOptions) {
    const { world, plan } = options;
    this.#options = options;
    this.machine = new Machine(world, plan.name);
    this.link = new Link(world, plan.name);
    this.#atFront = world.random.fork(`in front of ${plan.name}`);
    this.disk = new ApplicationDisk(world, plan.name);
  }

  get plan(): SdkPlan {
    return this.#options.plan;
  }

  /** The process that runs now. */
  get running(): SdkRun | undefined {
    return this.#running;
  }

  start(): void {
    if (this.#running !== undefined) return;
    const { world, plan, history, writeKey } = this.#options;
    this.#runs += 1;
    const run = this.#runs;
    const clock = new ProcessClock(this.machine, world.random.fork(`${plan.name} ${run}`));
    world.note(`${plan.name} starts, run ${run}`);
    this.#running = new SdkRun({
      world,
      history,
      plan,
      writeKey,
      run,
      clock,
      link: this.link,
      spool: plan.spools ? this.#openSpool(clock) : undefined,
      newMessageId: () => `${plan.name}-${run}-${++this.#made}`,
      deliver: (path, headers, body) => this.#deliver(path, headers, body),
    });
  }

  get sourceId(): string {
    return this.#options.sourceId;
  }

  /** The application calls the SDK. */
  take(kind: CallKind, fields: unknown): void {
    this.#running?.take(kind, fields);
  }

  /** Another client of the same source sends some of the last messages again, and some new ones with them. */
  sendAgain(again: number, fresh: number, dialect: Dialect): void {
    const { history, plan, writeKey } = this.#options;
    const old = history.calls
      .filter(({ sdk, accepted }) => sdk === plan.name && accepted)
      .slice(-again || Infinity);
    const ids = old.map(({ messageId }) => messageId);
    for (let index = 0; index < fresh; index++) ids.push(`${plan.name}-again-${++this.#made}`);
    const batch = ids.map((messageId) => {
      const { userId, anonymousId, previousId } = history.fields.get(messageId) ?? { userId: "u0" };
      const who = { userId, anonymousId, previousId };
      if (!history.fields.has(messageId)) history.fields.set(messageId, { userId });
      // The same people: whichever copy is stored first, it joins the same ids.
      return previousId === undefined
        ? { type: "track", event: "Imported", ...who, messageId }
        : { type: "alias", ...who, messageId };
    });
    const key = { authorization: basic(writeKey) };
    if (dialect === "one each")
      for (const { type, ...message } of batch) this.#post(`/v1/${type}`, key, message);
    else if (dialect === "batch") this.#post("/v1/batch", key, { batch });
    else this.#post("/v1/import", {}, { writeKey, batch, sentAt: "2026-01-01T00:00:00.000Z" });
  }

  /** Another client of the same source sends an event by itself. */
  sendNow(event: CallFields): void {
    const { history, plan, writeKey } = this.#options;
    const messageId = `${plan.name}-now-${++this.#made}`;
    history.fields.set(messageId, event);
    this.#post("/v1/track", { authorization: basic(writeKey) }, { ...event, messageId });
  }

  #post(path: string, headers: Readonly<Record<string, string>>, body: CallFields): void {
    this.link.exchange<ServedAnswer>(
      () => this.#deliver(path, headers, Buffer.from(JSON.stringify(body))),
      () => {},
    );
  }

  /** The application ends without warning. */
  crash(): void {
    if (this.#running === undefined) return;
    this.#options.world.note(`${this.plan.name} crash`);
    this.#running.crash();
    this.#running = undefined;
  }

  /** Its machine loses power. */
  cutPower(): void {
    this.#options.world.note(`${this.plan.name} power cut`);
    this.#options.history.powerCuts.push({ sdk: this.plan.name, atMs: this.#options.world.elapsedMs });
    this.crash();
    for (const closing of this.#closing) closing.crash();
    this.#closing.clear();
    this.disk.cutPower();
  }

  /** The process ends in the middle of a change of the disk. */
  endIn(changes: number, cutsPower: boolean): void {
    this.#endsAfterChanges = { left: changes, cutsPower };
  }

  /** `process.exit()`. */
  endNow(): void {
    const ended = this.#running;
    this.#options.world.note(`${this.plan.name} exits`);
    ended?.endNow();
    if (this.#running === ended) this.#running = undefined;
  }

  /** The application ends with `close()`. The next process may start before this one has ended. */
  async close(timeoutMs: number): Promise<void> {
    const closing = this.#running;
    if (closing === undefined) return;
    this.#running = undefined;
    this.#closing.add(closing);
    this.#options.world.note(`${this.plan.name} closes`);
    await closing.close(timeoutMs);
    this.#closing.delete(closing);
  }

  #openSpool(clock: ProcessClock): SpoolDirectory {
    const { world, plan, writeKey } = this.#options;
    const { name } = plan;
    const user = { world, name, clock, beforeChange: () => this.#changesDisk(clock) };
    const builtIns = simulatedBuiltIns(this.disk, this.#listeners, user);
    const batchUrl = "http://collector/v1/batch";
    return new SpoolDirectory(
      { directory: SPOOL_FOLDER, maxBytes: plan.spoolBytes, writeKey, batchUrl },
      builtIns,
    );
  }

  #changesDisk(clock: ProcessClock): void {
    const ends = this.#endsAfterChanges;
    if (ends === undefined || this.#running?.clock !== clock) return;
    ends.left -= 1;
    if (ends.left > 0) return;
    this.#endsAfterChanges = undefined;
    if (ends.cutsPower) this.cutPower();
    else this.crash();
    this.#options.world.after(0, () => this.start());
  }

  async #deliver(
    path: string,
    headers: Readonly<Record<string, string>>,
    body: Buffer,
  ): Promise<ServedAnswer | "refused" | "cut"> {
    const { world, history, collector, sourceId, plan } = this.#options;
    const { front } = this;
    if (front !== undefined && this.#atFront.chance(front.share)) {
      const wait = front.retryAfter[this.#refusals++ % front.retryAfter.length] ?? "1";
      return { status: front.status, headers: { "retry-after": wait }, body: "" };
    }
    const run = collector.runs;
    const askedMs = world.elapsedMs;
    // The collector may change the bytes of a request, and the network may deliver them twice.
    const answer = await collector.serve({ method: "POST", path, headers, body: new Uint8Array(body) });
    world.note(`batch of ${plan.name}: ${typeof answer === "string" ? answer : answer.status}`);
    if (typeof answer === "string" || answer.status !== 200) return answer;
    const parsed = JSON.parse(body.toString("utf8")) as {
      batch?: { messageId: string }[];
      messageId: string;
    };
    const batch = parsed.batch ?? [parsed];
    const { rejected = [], duplicates = 0 } = JSON.parse(answer.body) as {
      rejected?: { index: number }[];
      duplicates?: number;
    };
    const refused = new Set(rejected.map(({ index }) => index));
    history.acknowledgements.push({
      ...{ sourceId, askedMs, run },
      atMs: world.elapsedMs,
      messageIds: batch.flatMap(({ messageId }, index) => (refused.has(index) ? [] : [messageId])),
      duplicates,
    });
    return answer;
  }
}

function basic(writeKey: string): string {
  return `Basic ${Buffer.from(`${writeKey}:`).toString("base64")}`;
}
