import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import {
  type Authenticator,
  type ConnectionOptions,
  connect,
  credsAuthenticator,
  errors,
  type NatsConnection,
  NatsConnectionImpl,
  nkeyAuthenticator,
  tokenAuthenticator,
  usernamePasswordAuthenticator,
} from "@nats-io/transport-node";
import { EngineRefused, type RefusalCode, reasonOf } from "./api-errors.js";

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
  credentials:
    "Check user, password, token, nkey or credentials file, and the account they belong to (SLUICE_CLUSTER_USER and SLUICE_CLUSTER_PASSWORD, SLUICE_CLUSTER_TOKEN, SLUICE_CLUSTER_NKEY or SLUICE_CLUSTER_CREDS_FILE).",
  tls: "Check the certificate authority, the client's certificate, and the names in the server's certificate.",
  unreachable: "Check the addresses, that the servers run, and whether they ask for a client's certificate.",
};

function givenTo(credentials: NatsCredentials | undefined): string {
  switch (credentials?.kind) {
    case undefined:
      return "without credentials";
    case "user":
      return `with the user "${credentials.user}" and a password`;
    case "token":
      return "with a token";
    case "nkey":
      return "with an nkey";
    case "creds":
      return "with a file of credentials";
  }
}

/** Why one server is not connected. */
interface ServerFailure {
  readonly server: string;
  readonly code: RefusalCode;
  readonly error: unknown;
}

/** Problems that waiting does not solve are reported first. */
const GRAVEST: readonly RefusalCode[] = ["credentials", "tls", "unreachable"];

function refusalOf(
  failures: readonly ServerFailure[],
  credentials: NatsCredentials | undefined,
): EngineRefused {
  const code = GRAVEST.find((one) => failures.some((failure) => failure.code === one)) ?? "unreachable";
  const told = failures.filter((failure) => failure.code === code);
  const reasons = [...new Set(told.map(({ error }) => reasonOf(error)))].join("; ");
  const given = code === "credentials" ? `, ${givenTo(credentials)}` : "";
  const servers = told.map(({ server }) => withoutSecrets(server)).join(", ");
  return new EngineRefused(code, `${servers}: ${reasons}${given}. ${ADVICE[code]}`, told[0]?.error);
}

/**
 * Connects for good: after the first time it connects again by itself, for as long as it takes. The first time, each address is tried once,
 * in any order. Rejects with `EngineRefused`, or with the signal's reason.
 */
export async function connectToNats(target: ConnectionTarget, signal?: AbortSignal): Promise<NatsConnection> {
  const { servers, credentials } = target;
  if (servers.length === 0) throw new EngineRefused("invalid_option", "no address of a NATS server is given");
  const failures: ServerFailure[] = [];
  for (const server of shuffled(servers)) {
    signal?.throwIfAborted();
    try {
      const connection = await connect({ ...connectionOptions(target), servers: [server] });
      learnServers(connection, servers);
      // It ends with the connection and reports no errors.
      leaveSilentServers(connection).catch(() => {});
      return connection;
    } catch (error) {
      if (error instanceof EngineRefused) throw error;
      failures.push({ server, code: refusalCodeOf(error), error });
    }
  }
  throw refusalOf(failures, credentials);
}

function connectionOptions({ name, credentials, tls }: ConnectionTarget): ConnectionOptions {
  return {
    name,
    timeout: CONNECT_TIMEOUT_MS,
    pingInterval: PING_INTERVAL_MS,
    maxPingOut: 2,
    maxReconnectAttempts: -1,
    reconnectTimeWait: RECONNECT_WAIT_MS,
    // Credentials that are replaced while it runs must not end the process.
    ignoreAuthErrorAbort: true,
    // Servers tell of each other before they look at the credentials. Until it is connected, the client would try them without an end.
    ignoreClusterUpdates: true,
    ...(credentials === undefined ? {} : { authenticator: authenticatorOf(credentials) }),
    ...(tls === undefined ? {} : { tls: tlsOf(tls) }),
  };
}

/** From now on the client knows all addresses that were given, and those that its server tells it. */
function learnServers(connection: NatsConnection, servers: readonly string[]): void {
  connection.setServers([...servers]);
  if (!(connection instanceof NatsConnectionImpl)) return;
  const { options, protocol } = connection;
  options.ignoreClusterUpdates = false;
  const isEncrypted = protocol.transport.isEncrypted();
  if (connection.info !== undefined) protocol.servers.update(connection.info, isEncrypted);
  // Addresses that a server tells are numbers, and its certificate may only have names.
  if (isEncrypted) protocol.servers.updateTLSName();
}

/** In any order, so that the clients are spread over the servers. */
function shuffled<T>(all: readonly T[]): T[] {
  return all
    .map((one) => ({ one, at: randomInt(2 ** 32) }))
    .sort((a, b) => a.at - b.at)
    .map(({ one }) => one);
}

/** An address may contain a password. */
export function withoutSecrets(address: string): string {
  return address.replace(/\/\/[^@/]*@/, "//");
}

/**
 * Cuts the connection to a server that answers nothing any more, so that the client goes on to the next one. The client itself first waits
 * until everything was handed to the kernel, and the buffers of a server that is stopped, or of a machine that is gone, may be full.
 * Resolves when the connection is closed for good.
 */
async function leaveSilentServers(connection: NatsConnection): Promise<void> {
  if (!(connection instanceof NatsConnectionImpl)) return;
  for await (const { type } of connection.status()) {
    if (type === "staleConnection")
      await connection.protocol.transport.close(new Error("the server does not answer"));
  }
}
