import type { PendingMessage, ProfileStore } from "@sluice/event-log";
import { BEFORE_FIRST, lastMessageIndex, type Offset, offsetAt, type StoredBatch } from "@sluice/event-log";
import type { UncheckedMessage } from "@sluice/protocol";
import type { Definition } from "../../src/definitions/definitions.js";
import { AudienceEngine } from "../../src/engine/engine.js";
import type { UnitResult } from "../../src/engine/state/unit-runner.js";
import type { IdentityPolicy } from "../../src/profiles/identities.js";
import { EPOCH_MS } from "../definitions/definitions.js";

/** One thing that destinations were told. */
export interface Heard {
  readonly id: string;
  readonly message: UncheckedMessage;
  readonly destinationIds: readonly string[];
}

/** An engine with a log of plain batches and a time that the test moves: what `audiences.ts` is around the engine, one step at a time. */
export class EngineWorld {
  nowMs = EPOCH_MS;
  engine: AudienceEngine;
  /** Everything that was owed, in order. */
  readonly heard: Heard[] = [];
  readonly batches: StoredBatch[] = [];
  /** Messages that asked for joins that were refused, by source. */
  readonly refusedJoins = new Map<string, number>();
  status: UnitResult["status"] = {
    cursor: BEFORE_FIRST,
    hasWork: false,
    leftOut: 0,
    setAside: 0,
  };
  readonly #store: ProfileStore;
  readonly #policies: readonly (readonly [sourceId: string, policy: IdentityPolicy])[];
  #definitions: readonly Definition[] = [];
  #nextOffset = 0 as Offset;

  constructor(store: ProfileStore, policies: Readonly<Record<string, IdentityPolicy>> = { src: "full" }) {
    this.#store = store;
    this.#policies = Object.entries(policies);
    this.engine = this.#newEngine();
  }

  #newEngine(): AudienceEngine {
    const engine = new AudienceEngine(this.#store, { rememberedProfiles: 3, newNonce: () => "test" });
    engine.allowJoins(this.#policies);
    return engine;
  }

  /** The engine's memory is gone; what it committed is not. */
  async restart(): Promise<void> {
    this.engine = this.#newEngine();
    await this.define(this.#definitions);
  }

  async define(definitions: readonly Definition[]): Promise<void> {
    this.#definitions = definitions;
    this.#take(await this.engine.define(definitions, this.nowMs));
  }

  /** Messages that arrive now, in one request; `null` is an item that was refused. */
  append(...messages: (UncheckedMessage | null)[]): void {
    this.appendOf("src", ...messages);
  }

  /** Messages of which those at `skipped` are in the request and not in the log: duplicates of earlier ones. */
  appendWithDuplicates(messages: readonly UncheckedMessage[], skipped: readonly number[]): void {
    this.appendOf("src", ...messages.map((message, index) => (skipped.includes(index) ? null : message)));
    const stored = this.batches.pop();
    if (stored === undefined) return;
    const { batch } = JSON.parse(Buffer.from(stored.body).toString()) as { batch: unknown[] };
    for (const index of skipped) batch[index] = messages[index];
    this.batches.push({ ...stored, body: Buffer.from(JSON.stringify({ batch })) });
  }

  /** Overwrites the messages of these ids, as the log does when users are deleted. */
  purge(isOfThem: (message: UncheckedMessage) => boolean): void {
    for (const [place, stored] of this.batches.entries()) {
      const { batch } = JSON.parse(Buffer.from(stored.body).toString()) as { batch: UncheckedMessage[] };
      const kept = batch.map((message) => (message !== null && isOfThem(message) ? null : message));
      this.batches[place] = { ...stored, body: Buffer.from(JSON.stringify({ batch: kept })) };
    }
  }

  /** The same from another source. */
  appendOf(sourceId: string, ...messages: (UncheckedMessage | null)[]): void {
    const first = this.#nextOffset;
    const batch = messages.map((message, index) => message && { messageId: `m${first + index}`, ...message });
    const stored: StoredBatch = {
      sourceId,
      receivedAtMs: this.nowMs,
      body: Buffer.from(JSON.stringify({ batch })),
      itemCount: messages.length,
      skipped: messages.flatMap((message, index) => (message === null ? [index] : [])),
      madeIds: [],
      first,
    };
    this.batches.push(stored);
    // As in the log: the next batch begins right after the last message.
    this.#nextOffset = offsetAt(first, lastMessageIndex(stored) + 1);
  }

  after(offset: Offset, limit: number): StoredBatch[] {
    return this.batches
      .filter((batch) => offsetAt(batch.first, lastMessageIndex(batch)) > offset)
      .slice(0, limit);
  }

  async consume(): Promise<void> {
    const unread = (): StoredBatch[] => this.after(this.status.cursor, 2);
    for (let next = unread(); next.length > 0; next = unread())
      this.#take(await this.engine.consume(next, this.nowMs));
    // Messages are evaluated at their receipt: what has changed by time since then is looked at now.
    while (this.status.wakeAtMs !== undefined && this.status.wakeAtMs <= this.nowMs)
      this.#take(await this.engine.tick(this.nowMs));
  }

  /** One step of what is to be done beside the log; false when there was nothing. */
  async workOnce(): Promise<boolean> {
    const { hasWork, historyAfter } = this.status;
    if (historyAfter !== undefined)
      this.#take(await this.engine.readHistory(this.after(historyAfter, 2), this.nowMs));
    else if (hasWork) this.#take(await this.engine.work(this.nowMs));
    else return false;
    return true;
  }

  async settle(): Promise<void> {
    await this.consume();
    while (await this.workOnce()) {
      // Until there is nothing left to do.
    }
  }

  /** Time passes; whatever falls due is done at its time. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.nowMs + ms;
    for (;;) {
      const { wakeAtMs } = this.status;
      if (wakeAtMs === undefined || wakeAtMs > untilMs) break;
      this.nowMs = Math.max(this.nowMs, wakeAtMs);
      this.#take(await this.engine.tick(this.nowMs));
      if (this.status.hasWork) this.#take(await this.engine.work(this.nowMs));
    }
    this.nowMs = untilMs;
    if (this.status.hasWork) this.#take(await this.engine.work(this.nowMs));
  }

  /** What was heard of one trait, in order: `u1:true`. */
  told(key: string): string[] {
    return this.heard.flatMap(({ id, message }) => {
      const traits = message.traits as Record<string, unknown> | undefined;
      return traits !== undefined && Object.hasOwn(traits, key)
        ? [`${id}:${JSON.stringify(traits[key])}`]
        : [];
    });
  }

  #take({ pending: owed, status, refusedJoins }: UnitResult): void {
    this.status = status;
    for (const [sourceId, count] of refusedJoins)
      this.refusedJoins.set(sourceId, (this.refusedJoins.get(sourceId) ?? 0) + count);
    for (const one of owed) this.heard.push(asHeard(one));
    const last = owed.at(-1);
    if (last !== undefined) this.engine.markPublished(last.seq);
  }
}

function asHeard({ message: json, destinationIds }: PendingMessage): Heard {
  const message = JSON.parse(json) as UncheckedMessage;
  return { id: String(message.userId ?? `anonymous ${message.anonymousId}`), message, destinationIds };
}
