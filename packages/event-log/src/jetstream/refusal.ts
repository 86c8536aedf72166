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
