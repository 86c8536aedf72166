/** An error of a connection, as Node.js and the collector give it. */
interface ConnectionError {
  readonly code?: unknown;
  readonly message: string;
}

/**
 * What to do about a connection that failed, as a sentence without its full stop. `server`: its name and port. Undefined: the error is
 * about something else.
 */
export function connectionAdvice({ code, message }: ConnectionError, server: string): string | undefined {
  switch (code) {
    case "ECONNREFUSED":
      return `Nothing listens at ${server}. Start the server, or correct name and port`;
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `${server} has no address. Check the name`;
    case "EHOSTUNREACH":
    case "ENETUNREACH":
      return `There is no way to ${server}. Check network and firewalls`;
    case "ETIMEDOUT":
    case "UND_ERR_CONNECT_TIMEOUT":
      return `${server} does not answer. Check name, port and firewalls`;
    case "ECONNRESET":
    case "EPIPE":
    case "UND_ERR_SOCKET":
      return `${server} closed the connection. Look at its log`;
    case "ERR_EGRESS_REFUSED":
      return `The collector does not allow ${server}. Add it to allowTargets`;
    default:
      return /certificate|self.signed/i.test(message)
        ? `The certificate of ${server} is not trusted. Set its certificate authority (the setting ca, or NODE_EXTRA_CA_CERTS of the collector)`
        : undefined;
  }
}
