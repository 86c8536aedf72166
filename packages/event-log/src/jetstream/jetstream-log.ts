import type { StreamState } from "@nats-io/jetstream";
import { EntriesTrimmed, type LogAppend, type LogEntry, type ReplicatedLog } from "../replicated/engine.js";
import { availableOr, failedAppend, isWithoutResponders } from "./api-errors.js";
import { CheckFailed, followStream, type StreamAccess } from "./follow-stream.js";

export interface LogOptions {
  readonly stream: string;
  readonly subject: string;
  /** Bytes of a message at most, headers included, as the stream is set. */
  readonly maxMessageBytes: number;
}

/** How long an answer may take. An election takes longer than that; then the same entry is appended again. */
const ANSWER_MS = 5_000;
/** Before an answer of which the next attempt would follow at once. */
const NO_LEADER_WAIT_MS = 100;
/** Room for the headers with the expected sequence and the expected stream. */
const HEADER_BYTES = 1_024;

function boundsOf(state: Pick<StreamState, "first_seq" | "last_seq">): { first: number; last: number } {
  // A stream that never had a message says that its first one is 0.
  return { first: Math.max(1, state.first_seq), last: state.last_seq };
}

/** A log in a stream with one subject. The leader of the stream checks the expected sequence, and answers all questions about the end. */
export function jetStreamLog(access: StreamAccess, options: LogOptions): ReplicatedLog {
  const { client, manager, link, clock } = access;
  const maxEntryBytes = (): number =>
    Math.min(access.maxPayloadBytes(), options.maxMessageBytes) - HEADER_BYTES;

  async function publish(data: Uint8Array, expectedLast: number): Promise<LogAppend> {
    if (!(await link.connected(ANSWER_MS))) return { kind: "unknown", reason: "the connection is lost" };
    try {
      // While the connection is lost, the client keeps the message. The caller may transfer its bytes to another thread.
      const answer = client.publish(options.subject, new Uint8Array(data), {
        timeout: ANSWER_MS,
        expect: { streamName: options.stream, lastSequence: expectedLast },
      });
      const { seq } = await link.whileConnected(answer);
      return { kind: "appended", sequence: seq };
    } catch (error) {
      if (isWithoutResponders(error)) await clock.sleep(NO_LEADER_WAIT_MS);
      return failedAppend(error);
    }
  }

  const bounds = async (): Promise<{ first: number; last: number }> => {
    const { state } = await availableOr(() => manager.streams.info(options.stream));
    return boundsOf(state);
  };

  async function* read(after: number, signal: AbortSignal): AsyncGenerator<LogEntry> {
    let next = after + 1;
    const check = async (): Promise<void> => {
      const { first } = await bounds().catch((error: unknown) => {
        throw new CheckFailed("the stream's leader does not answer", { cause: error });
      });
      if (first > next) throw new EntriesTrimmed(first);
    };
    for await (const message of followStream(access, { stream: options.stream, from: next, signal, check })) {
      if (message.seq !== next) throw new EntriesTrimmed(message.seq);
      next = message.seq + 1;
      // The client's messages share buffers, and `slice` of a Buffer is a view. The caller may transfer an entry to another thread.
      yield { sequence: message.seq, data: new Uint8Array(message.data) };
    }
  }

  return {
    get maxEntryBytes() {
      return maxEntryBytes();
    },
    append(data, expectedLast) {
      const most = maxEntryBytes();
      if (data.byteLength > most)
        return Promise.resolve({
          kind: "impossible",
          reason: `the entry has ${data.byteLength} bytes, and ${most} are possible (max_payload of the NATS servers)`,
        });
      return publish(data, expectedLast);
    },
    bounds,
    read,
    async trim(upTo) {
      // A stream that is purged beyond its end would continue from there.
      const { first, last } = await bounds();
      const end = Math.min(upTo, last);
      if (end < first) return;
      await availableOr(() => manager.streams.purge(options.stream, { seq: end + 1 }));
    },
  };
}
