import { JetStreamApiError } from "@nats-io/jetstream";
import { errors } from "@nats-io/transport-node";
import { EngineUnavailable, type LogAppend } from "../replicated/engine.js";

/** Numbers of errors in the API of JetStream. */
export const API_ERRORS = {
  /** The servers have no leader just now. */
  unavailable: 10008,
  streamNotFound: 10059,
  streamNameInUse: 10058,
  consumerNotFound: 10014,
  subjectsOverlap: 10065,
  noPeers: 10005,
  replicasNotSupported: 10074,
  storageExceeded: 10047,
  accountLimits: 10002,
  accountStorageExceeded: 10028,
  noMessage: 10037,
  messageTooLarge: 10054,
  storeFailed: 10077,
  clusterStorageExceeded: 10023,
  wrongLastSequence: 10071,
  wrongLastSequenceConstant: 10164,
  jetStreamNotEnabled: 10076,
  jetStreamNotEnabledForAccount: 10039,
} as const;

/** The number of an error that JetStream answered with. Undefined if it did not answer. */
export function apiErrorCode(error: unknown): number | undefined {
  if (error instanceof JetStreamApiError) return error.code;
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof JetStreamApiError ? cause.code : undefined;
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Whether nobody received the request: the stream or the whole cluster has no leader at the moment. */
export function isWithoutResponders(error: unknown): boolean {
  const causes = [error, error instanceof Error ? error.cause : undefined];
  return causes.some(
    (cause) =>
      cause instanceof errors.NoRespondersError ||
      (cause instanceof errors.RequestError && cause.isNoResponders()),
  );
}

/** The leader checks these before it proposes an entry to the others. */
const NO_ROOM: readonly (number | undefined)[] = [
  API_ERRORS.storageExceeded,
  API_ERRORS.accountStorageExceeded,
  API_ERRORS.accountLimits,
  API_ERRORS.clusterStorageExceeded,
];

function isWithoutRoom(code: number | undefined, reason: string): boolean {
  if (NO_ROOM.includes(code)) return true;
  // With other reasons, such as a full disk, only the leader failed. The other replicas may have the entry.
  return code === API_ERRORS.storeFailed && /maximum (bytes|messages) exceeded/.test(reason);
}

/** Says how a publish ended that did not succeed. Whatever is not known for sure is `unknown`. */
export function failedAppend(error: unknown): Exclude<LogAppend, { kind: "appended" }> {
  const code = apiErrorCode(error);
  const reason = reasonOf(error);
  if (code === API_ERRORS.wrongLastSequence || code === API_ERRORS.wrongLastSequenceConstant) {
    const last = /wrong last sequence: (\d+)/.exec(reason)?.[1];
    return { kind: "refused", last: last === undefined ? undefined : Number(last) };
  }
  if (code === API_ERRORS.messageTooLarge) return { kind: "impossible", reason };
  if (isWithoutRoom(code, reason)) return { kind: "impossible", reason };
  // The client itself refuses what is over the server's limit, before anything is sent.
  if (error instanceof errors.InvalidArgumentError) return { kind: "impossible", reason };
  return { kind: "unknown", reason };
}

/** Runs a call of which only success and a few answers are understood; everything else is `EngineUnavailable`. */
export async function availableOr<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    // The client takes servers without a leader for servers without JetStream. That it is there was seen at the start.
    const isLeaderless =
      (error instanceof Error && error.name === "JetStreamNotEnabled") || isWithoutResponders(error);
    throw new EngineUnavailable(isLeaderless ? "they have no leader" : reasonOf(error), { cause: error });
  }
}

/** The servers, or those of a stream, elect a leader, so that nobody answers for a while. */
export function isElecting(error: unknown): boolean {
  return error instanceof errors.TimeoutError || apiErrorCode(error) === API_ERRORS.unavailable;
}
