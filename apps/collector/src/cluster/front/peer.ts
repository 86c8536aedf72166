import { hkdfSync, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** The headers that one process adds to a request that it passes on to another. Headers of these names from elsewhere are ignored. */
export const PEER_HEADERS = {
  /** Proves that the request comes from a process of this cluster. */
  token: "sluice-peer-token",
  /** The address of the client, as the first process saw it. */
  client: "sluice-peer-client",
  /** Which of its addresses the client reached: `public` or `admin`. */
  listener: "sluice-peer-listener",
} as const;

/** In an answer to a passed-on request: nothing was done, because this process does not own the log. */
export const NOT_OWNER_HEADER = "sluice-peer-not-owner";

export type ListenerName = "public" | "admin";

/** Where a passed-on request came from. */
export interface Origin {
  readonly client: string;
  readonly listener: ListenerName;
}

/** The token of the cluster's processes, derived from the secret key that all of them have. */
export function peerToken(secretKey: Uint8Array, cluster: string): string {
  return derive(secretKey, `sluice peer ${cluster}`, 32);
}

/** Tells whether two processes have the same secret key, without telling the key. */
export function keyFingerprint(secretKey: Uint8Array, cluster: string): string {
  return derive(secretKey, `sluice fingerprint ${cluster}`, 12);
}

function derive(secretKey: Uint8Array, purpose: string, bytes: number): string {
  return Buffer.from(hkdfSync("sha256", secretKey, new Uint8Array(0), purpose, bytes)).toString("base64url");
}

/** Reads where another process of the cluster says that a request came from. Undefined: the request came from a client. */
export function originOf(headers: IncomingMessage["headers"], token: string): Origin | undefined {
  const given = headers[PEER_HEADERS.token];
  if (typeof given !== "string" || !isEqual(given, token)) return undefined;
  const client = headers[PEER_HEADERS.client];
  const listener = headers[PEER_HEADERS.listener];
  return {
    client: typeof client === "string" ? client : "",
    listener: listener === "admin" ? "admin" : "public",
  };
}

function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

const NOT_PASSED_ON: ReadonlySet<string> = new Set([
  // They describe one connection (RFC 9110, section 7.6.1).
  ...["connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"],
  // The first process answers it.
  "expect",
  ...Object.values(PEER_HEADERS),
]);

/**
 * The headers of a request for the owner: names and values by turns. First what only this process knows, because a server may ignore those
 * after the most that it reads; then the others as they came.
 */
export function passedOnHeaders(raw: readonly string[], origin: Origin, token: string): string[] {
  const { client, listener } = origin;
  const headers = [PEER_HEADERS.token, token, PEER_HEADERS.client, client, PEER_HEADERS.listener, listener];
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string;
    if (!NOT_PASSED_ON.has(name.toLowerCase())) headers.push(name, raw[i + 1] as string);
  }
  return headers;
}
