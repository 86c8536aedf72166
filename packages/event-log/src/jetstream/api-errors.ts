import { JetStreamApiError } from "@nats-io/jetstream";
import { errors } from "@nats-io/transport-node";
import { EngineUnavailable, type LogAppend } from "../replicated/engine.js";

/** Why a NATS cluster must not be used as it is. Nothing was changed in it. */
export const REFUSALS = {
  invalid_option: "The configuration is not valid",
  unreachable: "No NATS server can be reached",
  credentials: "The NATS server does not accept the credentials",
  tls: "The connection to the NATS server is not secure",
  permissions: "The NATS user may not use what the cluster needs",
  no_jetstream: "JetStream is not there",
  server_version: "The NATS server is too old",
  too_few: "Too few NATS servers run",
  replicas: "There are fewer replicas than asked for",
  unsynced: "The NATS servers acknowledge before they sync",
  sync_unknown: "Nothing says whether the NATS servers sync before they acknowledge",
  room: "The NATS servers have too little room",
  settings: "A stream has other settings than the cluster needs",
  format: "The cluster has another format",
  unknown_cluster: "There is no such cluster",
  other_cluster: "There is another cluster with this name",
} as const;

export type RefusalCode = keyof typeof REFUSALS;

/** The engine cannot be used: what is wrong, where, and what to do. */
export class EngineRefused extends Error {
  override readonly name = "EngineRefused";
  readonly code: RefusalCode;
  /** The message without the code's sentence. */
  readonly detail: string;

  constructor(code: RefusalCode, detail: string, cause?: unknown) {
    super(`${REFUSALS[code]}: ${detail}`, { cause });
    this.code = code;
    this.detail = detail;
  }
}

const AWAY: readonly RefusalCode[] = ["unreachable", "no_jetstream", "too_few"];

/** Whether a refusal only says that the servers are not there, so that it may help to try again. */
export function isAway(error: unknown): error is EngineRefused {
  return error instanceof EngineRefused && AWAY.includes(error.code);
}

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
