import { connectionAdvice } from "@sluice/destination";
import type { NatsSettings } from "./settings.js";

/** A stream has refused a message. */
export class Refused extends Error {
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
