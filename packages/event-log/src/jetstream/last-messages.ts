import { API_ERRORS, apiErrorCode } from "./api-errors.js";
import type { StreamAccess } from "./follow-stream.js";

export interface LastMessage {
  readonly sequence: number;
  /** What the conventions of key-value buckets call the operation: undefined for a value. */
  readonly operation: string | undefined;
  readonly text: string;
  /** When the server stored it. */
  readonly storedAtMs: number;
}

/** The last message of a subject, from the stream's leader. Undefined if there is none. */
export async function lastMessage(
  access: StreamAccess,
  stream: string,
  subject: string,
): Promise<LastMessage | undefined> {
  try {
    const found = await access.manager.streams.getMessage(stream, { last_by_subj: subject });
    if (found === null) return undefined;
    const operation = found.header.get("KV-Operation");
    return {
      sequence: found.seq,
      operation: operation === "" ? undefined : operation,
      text: found.string(),
      storedAtMs: found.time.getTime(),
    };
  } catch (error) {
    if (apiErrorCode(error) === API_ERRORS.noMessage) return undefined;
    throw error;
  }
}

/** The subjects that have messages now, from the stream's leader. */
export async function subjectsOf(access: StreamAccess, stream: string, filter: string): Promise<string[]> {
  const { state } = await access.manager.streams.info(stream, { subjects_filter: filter });
  return Object.keys(state.subjects ?? {});
}
