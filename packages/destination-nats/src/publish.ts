import type { Socket } from "node:net";
import { rootCertificates } from "node:tls";
import {
  type Authenticator,
  type ConnectionOptions,
  credsAuthenticator,
  headers,
  type NatsConnection,
  NatsConnectionImpl,
  setTransportFactory,
  type TlsOptions,
  tokenAuthenticator,
  usernamePasswordAuthenticator,
} from "@nats-io/transport-node";
import { NodeTransport } from "@nats-io/transport-node/lib/node_transport.js";
import type { Connect, OutgoingMessage } from "@sluice/destination";
import { connectionAdvice } from "@sluice/destination";
import type { NatsSettings } from "./settings.js";

/** A stream has refused a message. */
class Refused extends Error {
  override readonly name: string;

  constructor(code: number, description: string) {
    super(description);
    this.name = `stream_${code}`;
  }
}

interface Failure {
  readonly name?: string;
  readonly code?: unknown;
  readonly message: string;
  readonly cause?: unknown;
}

function rootOf(error: unknown): Failure {
  let root = error as Failure;
  while (root.cause !== undefined && root.cause !== null) root = root.cause as Failure;
  return root;
}

/** Whether the message will never be taken: it is larger than the stream or the server allows. */
export function isAboutMessage(error: unknown): boolean {
  const { name, message } = rootOf(error);
  return name === "stream_10054" || /max_payload/.test(message);
}

interface Explained {
  readonly kind: "retry" | "failed";
  readonly reason: string;
  readonly detail: string;
}

/** What a failure means, and what to do. Only messages that are too large fail for good. */
export function failureOf(error: unknown, settings: NatsSettings): Explained {
  const { name = "error", code, message } = rootOf(error);
  if (isAboutMessage(error)) {
    const detail = `The message is too large. Raise max_msg_size of the stream or max_payload of the server: ${message}`;
    return { kind: "failed", reason: "too_large", detail };
  }
  const reason = typeof code === "string" ? code : name;
  return { kind: "retry", reason, detail: `${adviceOn(reason, message, settings)}: ${message}` };
}

function adviceOn(reason: string, message: string, { servers, prefix }: NatsSettings): string {
  switch (reason) {
    case "NoResponders":
      return `No stream takes the subject ${prefix}.>. Create one, with JetStream turned on`;
    case "AuthorizationError":
    case "UserAuthenticationExpiredError":
      return "The servers refused the sign-in. Check how the user signs in, and the secret";
    case "PermissionViolationError":
      return `The user may not do this. Allow it to publish to ${prefix}.> and to subscribe to _INBOX.>`;
    case "stream_10077":
      return "The stream is full. Raise its limits, or let it discard old messages";
    case "stream_10023":
    case "stream_10047":
      return "JetStream has no room left";
    case "TimeoutError":
      return `${servers} does not answer`;
    default:
      return /'tls'/.test(message)
        ? "The server does not offer TLS. Turn it on there, or set security to none"
        : (connectionAdvice({ code: reason, message }, servers) ?? servers);
  }
}

/** Until the stream has confirmed a message. */
const ACK_TIMEOUT_MS = 15_000;

/** Publishes a message. When a stream has stored it, now or before, resolves with where it is. */
export async function publish(
  connection: NatsConnection,
  prefix: string,
  { id, sourceId, payload, trace = {} }: OutgoingMessage,
): Promise<string> {
  const head = headers();
  // A stream adds what it has had within its window no more. Clients of two sources may choose the same id.
  head.set("Nats-Msg-Id", `${sourceId}/${id}`);
  const words = { "message-id": id, "source-id": sourceId, type: payload.type, ...trace };
  for (const [name, value] of Object.entries(words)) head.set(name, value);
  const answer = await connection.request(`${prefix}.${sourceId}.${payload.type}`, JSON.stringify(payload), {
    headers: head,
    timeout: ACK_TIMEOUT_MS,
  });
  const { stream, seq, error } = answer.json<{
    readonly stream?: string;
    readonly seq?: number;
    readonly error?: { readonly err_code?: number; readonly description?: string };
  }>();
  if (error !== undefined) throw new Refused(error.err_code ?? 0, error.description ?? "refused");
  if (typeof stream !== "string") throw new Refused(0, "Something that is no stream has answered");
  return `${stream}, sequence ${seq}`;
}

interface CheckedOptions extends ConnectionOptions {
  /** Opens the socket of this connection. */
  readonly openSocket: (host: string, port: number) => Promise<Socket>;
}

/** The client's transport, over sockets that its options open. */
class CheckedTransport extends NodeTransport {
  override async dial({ hostname, port }: { hostname: string; port: number }): Promise<Socket> {
    const { openSocket, tls } = this.options as CheckedOptions;
    // For names, the client says itself what the certificate has to be for. Without this, an address would be taken for `localhost`.
    if (tls) this.options = { ...this.options, tls: { ...tls, host: hostname } as TlsOptions };
    const socket = await openSocket(hostname, port);
    socket.setNoDelay(true);
    return socket;
  }
}

const CONNECT_TIMEOUT_MS = 10_000;
/** A server that stopped answering is noticed after two of these. */
const PING_INTERVAL_MS = 10_000;

/** A connection that is signed in. When it is lost, it ends. */
export async function connected(
  settings: NatsSettings,
  connect: Connect,
  signal: AbortSignal,
): Promise<NatsConnection> {
  const { servers, security, ca } = settings;
  let socket: Socket | undefined;
  const abort = (): void => void socket?.destroy(new Error("aborted"));
  signal.addEventListener("abort", abort, { once: true });
  const authenticator = authenticatorOf(settings);
  const options: CheckedOptions = {
    name: "sluice",
    servers: servers.split(/, ?/),
    // Names are resolved by the collector, and servers that others name are not asked for.
    ignoreClusterUpdates: true,
    reconnect: false,
    timeout: CONNECT_TIMEOUT_MS,
    pingInterval: PING_INTERVAL_MS,
    tls: security === "none" ? null : ca === undefined ? {} : { ca: [...rootCertificates, ca].join("\n") },
    ...(authenticator === undefined ? {} : { authenticator }),
    async openSocket(host, port) {
      socket = await connect({ host, port, signal });
      return socket;
    },
  };
  try {
    // The client has one factory for all connections. This one depends on their options only.
    setTransportFactory({ factory: () => new CheckedTransport() });
    const connection = await NatsConnectionImpl.connect(options);
    if (socket !== undefined) return connection;
    await connection.close();
    throw new Error("The client connected by itself");
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

function authenticatorOf({
  signIn,
  user = "",
  password = "",
  token = "",
  creds = "",
}: NatsSettings): Authenticator | undefined {
  switch (signIn) {
    case "user":
      return usernamePasswordAuthenticator(user, password);
    case "token":
      return tokenAuthenticator(token);
    case "creds":
      return credsAuthenticator(new TextEncoder().encode(creds));
    default:
      return undefined;
  }
}
