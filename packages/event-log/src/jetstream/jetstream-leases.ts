import type { JsMsg } from "@nats-io/jetstream";
import { headers } from "@nats-io/transport-node";
import type { LeaseRecord, Leases } from "../replicated/engine.js";
import { API_ERRORS, apiErrorCode, availableOr } from "./api-errors.js";
import { followStream, type StreamAccess } from "./follow-stream.js";
import { lastMessage, subjectsOf } from "./last-messages.js";

export interface LeaseOptions {
  readonly stream: string;
  readonly bucket: string;
}

/** Less than the time after which another process takes a lease that is not renewed. */
const ANSWER_MS = 2_000;
const OPERATION = "KV-Operation";
const VALID_KEY = /^[-/_=a-zA-Z0-9]+(\.[-/_=a-zA-Z0-9]+)*$/;

/** Leases in a key-value bucket of NATS that keeps one value a key. All reads ask the stream's leader. */
export function jetStreamLeases(access: StreamAccess, options: LeaseOptions): Leases {
  const { client, link } = access;
  const start = `$KV.${options.bucket}.`;
  const subjectOf = (key: string): string => {
    if (!VALID_KEY.test(key))
      throw new TypeError(`"${key}" is not a key: letters, digits, - _ / = and single dots`);
    return `${start}${key}`;
  };

  /** Undefined if the key's revision is another one. */
  async function publish(
    key: string,
    value: string,
    expected: number,
    operation?: string,
  ): Promise<number | undefined> {
    const header = headers();
    if (operation !== undefined) header.set(OPERATION, operation);
    try {
      const answer = client.publish(subjectOf(key), value, {
        timeout: ANSWER_MS,
        headers: header,
        expect: { streamName: options.stream, lastSubjectSequence: expected },
      });
      return (await link.whileConnected(answer)).seq;
    } catch (error) {
      const code = apiErrorCode(error);
      if (code === API_ERRORS.wrongLastSequence || code === API_ERRORS.wrongLastSequenceConstant)
        return undefined;
      throw error;
    }
  }

  async function get(key: string): Promise<LeaseRecord | undefined> {
    const found = await lastMessage(access, options.stream, subjectOf(key));
    if (found === undefined || found.operation !== undefined) return undefined;
    return { revision: found.sequence, value: found.text };
  }

  /** What a key's revision is for the server when there is no such key: 0, or that of the mark of its removal. */
  async function absentRevision(key: string): Promise<number | undefined> {
    const found = await lastMessage(access, options.stream, subjectOf(key));
    if (found === undefined) return 0;
    return found.operation === undefined ? undefined : found.sequence;
  }

  async function put(key: string, value: string, expected: number | undefined): Promise<number | undefined> {
    if (expected !== undefined) return publish(key, value, expected);
    const absent = await absentRevision(key);
    return absent === undefined ? undefined : publish(key, value, absent);
  }

  async function list(prefix: string): Promise<(LeaseRecord & { key: string })[]> {
    const keys = (await subjectsOf(access, options.stream, `${start}>`))
      .map((subject) => subject.slice(start.length))
      .filter((key) => key.startsWith(prefix))
      .sort();
    const records = await Promise.all(keys.map(async (key) => ({ key, record: await get(key) })));
    return records.flatMap(({ key, record }) => (record === undefined ? [] : [{ key, ...record }]));
  }

  return {
    get: (key) => availableOr(() => get(key)),
    list: (prefix) => availableOr(() => list(prefix)),
    put: (key, value, expected) => availableOr(() => put(key, value, expected)),
    remove: (key, expected) =>
      availableOr(async () => (await publish(key, "", expected, "DEL")) !== undefined),
    watch: (prefix, listener, signal) =>
      availableOr(() => watchLeases(access, options, prefix, listener, signal)),
  };
}

/** Resolves when the listener has had what was there. It goes on until the signal aborts. */
function watchLeases(
  access: StreamAccess,
  options: LeaseOptions,
  prefix: string,
  listener: (key: string, record: LeaseRecord | undefined) => void,
  signal: AbortSignal,
): Promise<void> {
  const start = `$KV.${options.bucket}.`;
  return new Promise((resolve, reject) => {
    /** Values that were there at the start and are not delivered yet. */
    let missing: number | undefined;
    const onStart = (pending: number): void => {
      if (missing === 0) return;
      missing = pending;
      if (missing === 0) resolve();
    };
    const countDown = (): void => {
      if (missing === undefined || missing === 0) return;
      missing -= 1;
      if (missing === 0) resolve();
    };
    const deliver = (message: JsMsg): void => {
      const key = message.subject.slice(start.length);
      if (!key.startsWith(prefix)) return;
      const isRemoved = (message.headers?.get(OPERATION) ?? "") !== "";
      listener(key, isRemoved ? undefined : { revision: message.seq, value: message.string() });
    };
    const run = async (): Promise<void> => {
      const of = { stream: options.stream, from: 1, subject: `${start}>`, lastPerSubject: true };
      for await (const message of followStream(access, { ...of, signal, onStart })) {
        deliver(message);
        countDown();
      }
      resolve();
    };
    run().catch(reject);
  });
}
