import type { Settled } from "./accept.js";

/** The `beforeSend` functions of a message, while they have returned no more than promises. */
export interface Hooking {
  /** Never rejects, and ends within the time limit. */
  readonly done: Promise<Settled>;
  /** Set once it has ended. */
  settled?: Settled;
}

/** A message that the client accepted: its JSON, made once at the call. */
export interface HeldMessage {
  /** Its place in the order of all messages that this client accepted, from 1. */
  readonly sequence: number;
  readonly messageId: string;
  readonly json: string;
  /** Size of `json` in UTF-8. */
  readonly bytes: number;
  /** What it counts as in the queue, if that differs. */
  readonly heldBytes?: number;
  /** Its `beforeSend` functions have not returned at the call. Its JSON is empty, because it must not leave as it was before them. */
  readonly hooking?: Hooking;
}

/** Messages that go out in one request, in the order of their calls, with no gap between their sequences. */
export type Batch = readonly HeldMessage[];

/** A message that will not arrive. */
export interface LostMessage {
  readonly messageId: string;
  /** The JSON that was, or would have been, sent. Absent if none could be made or the queue was full. */
  readonly json?: string | undefined;
}

const OPENING = '{"batch":[';
const BEFORE_TIME = '],"sentAt":"';
const CLOSING = '"}';
const ISO_TIME_CHARACTERS = 24;

/** The bytes of a request body, without its messages and the commas between them. */
export const ENVELOPE_BYTES = OPENING.length + BEFORE_TIME.length + ISO_TIME_CHARACTERS + CLOSING.length;

/** The request body of a batch. `sentAt` is ISO 8601 and differs from one attempt to the next. */
export function batchBody(batch: Batch, sentAt: string): string {
  let body = OPENING;
  for (let i = 0; i < batch.length; i++) {
    body += i === 0 ? batch[i]?.json : `,${batch[i]?.json}`;
  }
  return body + BEFORE_TIME + sentAt + CLOSING;
}
