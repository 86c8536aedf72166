import { randomUUID } from "node:crypto";
import {
  AckPolicy,
  type ConsumerMessages,
  DeliverPolicy,
  type JetStreamClient,
  type JetStreamManager,
  type JsMsg,
} from "@nats-io/jetstream";
import { nanos } from "@nats-io/transport-node";
import type { Clock } from "@sluice/resilience";
import { API_ERRORS, apiErrorCode } from "./api-errors.js";
import type { Link } from "./link.js";

export interface FollowOptions {
  readonly stream: string;
  /** The position of the first message that is wanted. */
  readonly from: number;
  /** Only messages of these subjects. Default: all. */
  readonly subject?: string;
  /** Begins with the last message of each subject instead of `from`. */
  readonly lastPerSubject?: boolean;
  readonly signal: AbortSignal;
  /** Called when reading begins, with the number of messages that are there, and again after each interruption. */
  readonly onStart?: (pending: number) => void;
  /** Called before reading begins, and when no message has come for a while. An error that it throws ends the reading. */
  readonly check?: (next: number) => Promise<void>;
}

export interface StreamAccess {
  readonly client: JetStreamClient;
  readonly manager: JetStreamManager;
  readonly link: Link;
  readonly clock: Clock;
  /** Bytes of a message at most, as the connected server has it. */
  maxPayloadBytes(): number;
}

/** Bytes that the server sends ahead. */
const BUFFER_BYTES = 16 * 1024 * 1024;
const HEARTBEAT_MS = 1_000;
/** After this time without a message, the reader asks whether there is really none. */
const IDLE_MS = 3_000;
const RETRY_MS = 100;
/** The server forgets a reader that is gone after this time. */
const FORGET_MS = 30_000;
const CONNECT_WAIT_MS = 5_000;
/** How often a reader is removed of which nothing is known. */
const REMOVALS = 3;

/** The reading of one consumer of the server, from its start until anything disturbs it. */
interface Reading {
  readonly name: string;
  readonly messages: ConsumerMessages;
  /** Ends it, so that a new one goes on from the same position. */
  stop(): void;
}

async function startReading(access: StreamAccess, options: FollowOptions, next: number): Promise<Reading> {
  const isFromStart = options.lastPerSubject === true && next === options.from;
  const name = randomUUID();
  try {
    const { num_pending } = await access.manager.consumers.add(options.stream, {
      name,
      ack_policy: AckPolicy.None,
      mem_storage: true,
      num_replicas: 1,
      inactive_threshold: nanos(FORGET_MS),
      ...(isFromStart
        ? { deliver_policy: DeliverPolicy.LastPerSubject }
        : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: next }),
      ...(options.subject === undefined ? {} : { filter_subject: options.subject }),
    });
    const consumer = await access.client.consumers.get(options.stream, name);
    const messages = await consumer.consume({
      max_bytes: BUFFER_BYTES,
      expires: FORGET_MS,
      idle_heartbeat: HEARTBEAT_MS,
      abort_on_missing_resource: true,
    });
    options.onStart?.(num_pending);
    return { name, messages, stop: () => messages.stop() };
  } catch (error) {
    void removeReader(access, options, name);
    throw error;
  }
}

/**
 * Removes a reader from the servers. They forget one by themselves if nobody reads from it, but not always one that was asked for while they
 * elected a leader: then it stays on their list without being there, and they count as not healthy. So it is removed again later.
 */
async function removeReader(
  { manager, clock }: Pick<StreamAccess, "manager" | "clock">,
  { stream, signal }: FollowOptions,
  name: string,
): Promise<void> {
  for (let removal = 1; removal <= REMOVALS; removal++) {
    try {
      await manager.consumers.delete(stream, name);
      return;
    } catch (error) {
      // At first it may still be on its way.
      if (removal > 1 && apiErrorCode(error) === API_ERRORS.consumerNotFound) return;
    }
    try {
      await clock.sleep(FORGET_MS, signal);
    } catch {
      return;
    }
  }
}

interface Watch {
  /** The caller waits for a message. */
  waiting(): void;
  /** A message is with the caller. */
  busy(): void;
  end(): void;
}

/** Ends a reading when the connection is lost, the server forgot it, or messages got lost on the way. */
function watchReading(
  access: StreamAccess,
  options: FollowOptions,
  reading: Reading,
  position: () => { next: number; delivered: number },
  fail: (error: unknown) => void,
): Watch {
  const { clock, link, manager } = access;
  let isEnded = false;
  let isWaiting = true;
  let cancel = (): void => {};
  const stopListening = link.onHealth(() => reading.stop());

  async function look(): Promise<void> {
    const before = position();
    try {
      const info = await manager.consumers.info(options.stream, reading.name);
      // Messages that are still on their way are counted as delivered.
      if (position().delivered === before.delivered && info.delivered.consumer_seq !== before.delivered)
        return reading.stop();
    } catch {
      return reading.stop();
    }
    try {
      await options.check?.(before.next);
    } catch (error) {
      fail(error);
      return reading.stop();
    }
    arm();
  }
  function arm(): void {
    cancel();
    // What is sent ahead while the caller works on a message is not lost.
    if (isEnded || !isWaiting) return;
    cancel = clock.after(IDLE_MS, () => void look());
  }
  async function watchNotices(): Promise<void> {
    for await (const notice of reading.messages.status()) {
      if (notice.type === "heartbeats_missed" || notice.type === "no_responders") reading.stop();
    }
  }
  watchNotices().catch(() => reading.stop());
  arm();
  return {
    waiting() {
      isWaiting = true;
      arm();
    },
    busy() {
      isWaiting = false;
      cancel();
    },
    end() {
      isEnded = true;
      cancel();
      stopListening();
      reading.stop();
      void removeReader(access, options, reading.name);
    },
  };
}

/**
 * The messages of a stream in order, each exactly once, without end. Whatever happens to connection and servers, it goes on behind the
 * last message that it gave. Ends when the signal aborts; throws only what `check` throws.
 */
export async function* followStream(access: StreamAccess, options: FollowOptions): AsyncGenerator<JsMsg> {
  let next = options.from;
  while (!options.signal.aborted) {
    try {
      if (!(await access.link.connected(CONNECT_WAIT_MS))) continue;
      await options.check?.(next);
    } catch (error) {
      if (!isPassing(error)) throw error;
      await pause(access, options.signal);
      continue;
    }
    for await (const message of readOnce(access, options, next)) {
      next = message.seq + 1;
      yield message;
    }
    if (!options.signal.aborted) await pause(access, options.signal);
  }
}

async function* readOnce(access: StreamAccess, options: FollowOptions, from: number): AsyncGenerator<JsMsg> {
  let reading: Reading;
  try {
    reading = await startReading(access, options, from);
  } catch {
    // No majority, no leader, or no stream: `checkSafety` tells the difference.
    return;
  }
  let next = from;
  let delivered = 0;
  let failure: { readonly error: unknown } | undefined;
  const watch = watchReading(
    access,
    options,
    reading,
    () => ({ next, delivered }),
    (error) => {
      if (!isPassing(error)) failure = { error };
    },
  );
  const onAbort = (): void => reading.stop();
  options.signal.addEventListener("abort", onAbort, { once: true });
  if (options.signal.aborted) onAbort();
  try {
    for await (const message of reading.messages) {
      // A message got lost on the way, or this is one of an earlier consumer.
      if (message.info.deliverySequence !== delivered + 1 || message.seq < next) break;
      delivered += 1;
      next = message.seq + 1;
      watch.busy();
      yield message;
      if (options.signal.aborted) break;
      watch.waiting();
    }
  } catch {
    // The library ended the reading: the loop outside begins another one.
  } finally {
    options.signal.removeEventListener("abort", onAbort);
    watch.end();
  }
  if (failure !== undefined) throw failure.error;
}

/** Thrown by `check` if it could not look: then reading is tried again. */
export class CheckFailed extends Error {
  override readonly name = "CheckFailed";
}

function isPassing(error: unknown): boolean {
  return error instanceof CheckFailed;
}

async function pause(access: StreamAccess, signal: AbortSignal): Promise<void> {
  await access.clock.sleep(RETRY_MS, signal).catch(() => {});
}
