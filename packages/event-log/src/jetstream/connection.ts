import { readFileSync } from "node:fs";
import {
  type Authenticator,
  type ConnectionOptions,
  connect,
  credsAuthenticator,
  errors,
  type NatsConnection,
  nkeyAuthenticator,
  tokenAuthenticator,
  usernamePasswordAuthenticator,
} from "@nats-io/transport-node";
import { reasonOf } from "./api-errors.js";
import { leaveSilentServers } from "./leave-silent-server.js";
import { EngineRefused, type RefusalCode } from "./refusal.js";

/** How a process proves who it is. Contents of files are given as text. */
export type NatsCredentials =
  | { readonly kind: "user"; readonly user: string; readonly password: string }
  | { readonly kind: "token"; readonly token: string }
  /** The seed of an nkey (`SU…`). */
  | { readonly kind: "nkey"; readonly seed: string }
  /** The contents of a `.creds` file: a JWT and its seed. */
  | { readonly kind: "creds"; readonly creds: string };

/** Certificates in PEM form, or files that contain them. */
export interface NatsTls {
  readonly ca?: string;
  readonly caFile?: string;
  readonly cert?: string;
  readonly certFile?: string;
  readonly key?: string;
  readonly keyFile?: string;
  /** The server begins with TLS, before it says anything. Default: false. */
  readonly handshakeFirst?: boolean;
}

export interface ConnectionTarget {
  /** Addresses such as `nats://10.0.0.1:4222`. One that answers is enough; the others are learned from it. */
  readonly servers: readonly string[];
  readonly credentials?: NatsCredentials;
  readonly tls?: NatsTls;
  /** How the servers call this connection. */
  readonly name: string;
}

/** A server that stopped answering is noticed after two of these. */
const PING_INTERVAL_MS = 1_000;
const CONNECT_TIMEOUT_MS = 3_000;
const RECONNECT_WAIT_MS = 200;

function authenticatorOf(credentials: NatsCredentials): Authenticator {
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text.trim());
  switch (credentials.kind) {
    case "user":
      return usernamePasswordAuthenticator(credentials.user, credentials.password);
    case "token":
      return tokenAuthenticator(credentials.token);
    case "nkey":
      return nkeyAuthenticator(bytes(credentials.seed));
    case "creds":
      return credsAuthenticator(new TextEncoder().encode(credentials.creds));
  }
}

/** Reads the files now, so that a wrong name is reported as such. */
function tlsOf(tls: NatsTls): NonNullable<ConnectionOptions["tls"]> {
  const read = (text: string | undefined, file: string | undefined): string | undefined => {
    if (text !== undefined || file === undefined) return text;
    try {
      return readFileSync(file, "utf8");
    } catch (error) {
      throw new EngineRefused("tls", `${file} cannot be read: ${reasonOf(error)}`, error);
    }
  };
  const ca = read(tls.ca, tls.caFile);
  const cert = read(tls.cert, tls.certFile);
  const key = read(tls.key, tls.keyFile);
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(tls.handshakeFirst === true ? { handshakeFirst: true } : {}),
  };
}

const TLS_TROUBLE = /certificate|tls|ssl|self.signed|handshake|altnames/i;

function refusalCodeOf(error: unknown): RefusalCode {
  if (error instanceof errors.AuthorizationError) return "credentials";
  if (error instanceof errors.UserAuthenticationExpiredError) return "credentials";
  const reason = reasonOf(error);
  // The client's words for a seed or a file of credentials that it cannot read.
  if (/credential|seed|nkey|checksum|prefix|base32/i.test(reason)) return "credentials";
  return TLS_TROUBLE.test(reason) ? "tls" : "unreachable";
}

const ADVICE: Partial<Record<RefusalCode, string>> = {
  credentials: "Check user, password, token, nkey or credentials file, and the account they belong to.",
  tls: "Check the certificate authority, the client's certificate, and the names in the server's certificate.",
  unreachable: "Check the addresses, that the servers run, and whether they ask for a client's certificate.",
};

/** Connects for good: after the first time it connects again by itself, for as long as it takes. */
export async function connectToNats(target: ConnectionTarget): Promise<NatsConnection> {
  if (target.servers.length === 0)
    throw new EngineRefused("invalid_option", "no address of a NATS server is given");
  const tls = target.tls === undefined ? undefined : tlsOf(target.tls);
  try {
    const connection = await connect({
      servers: [...target.servers],
      name: target.name,
      timeout: CONNECT_TIMEOUT_MS,
      pingInterval: PING_INTERVAL_MS,
      maxPingOut: 2,
      maxReconnectAttempts: -1,
      reconnectTimeWait: RECONNECT_WAIT_MS,
      // Credentials that are replaced while it runs must not end the process.
      ignoreAuthErrorAbort: true,
      ...(target.credentials === undefined ? {} : { authenticator: authenticatorOf(target.credentials) }),
      ...(tls === undefined ? {} : { tls }),
    });
    // It ends with the connection and reports no errors.
    leaveSilentServers(connection).catch(() => {});
    return connection;
  } catch (error) {
    const code = refusalCodeOf(error);
    const detail = `${target.servers.map(withoutSecrets).join(", ")}: ${reasonOf(error)}. ${ADVICE[code] ?? ""}`;
    throw new EngineRefused(code, detail.trim(), error);
  }
}

/** An address may contain a password. */
export function withoutSecrets(address: string): string {
  return address.replace(/\/\/[^@/]*@/, "//");
}
