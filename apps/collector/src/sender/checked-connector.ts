import { isIP, type LookupFunction, type Socket } from "node:net";
import { buildConnector } from "undici";
import type { EgressPolicy } from "./egress-policy.js";

/** An address that a name has. */
export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

/** All addresses of a name, in the order in which they are to be tried. */
export type ResolveHost = (host: string) => Promise<readonly ResolvedAddress[]>;

/** The connection was not opened: its address is none that requests may go to. */
export class EgressRefused extends Error {
  override readonly name = "EgressRefused";
  readonly code = "ERR_EGRESS_REFUSED";
}

export interface ConnectorOptions {
  readonly policy: EgressPolicy;
  readonly resolve: ResolveHost;
  /** Certificates in PEM that are trusted beside the usual ones. */
  readonly extraCa?: readonly string[];
  /** For connect and TLS together, in milliseconds. */
  readonly timeoutMs: number;
}

/** Opens a connection; hands the socket to `onSocket` at once, so that it can be destroyed while it connects. */
export type CheckedConnector = (
  options: buildConnector.Options,
  onSocket: (socket: Socket) => void,
  callback: buildConnector.Callback,
) => void;

/**
 * Connects only where the policy allows, judging what is really connected to: a literal before anything is opened
 * (the system asks no look-up for it), a name by the very addresses that its one look-up gave and that the connection
 * then uses, and the far end again once there is one. A name with any forbidden address is refused as a whole: an
 * honest public name has none. TLS is checked for chain, name and expiry, and is 1.2 at least, whatever the
 * environment says.
 */
export function checkedConnector({
  policy,
  resolve,
  extraCa,
  timeoutMs,
}: ConnectorOptions): CheckedConnector {
  const lookup: LookupFunction = (host, options, callback) => {
    resolve(host).then(
      (addresses) => {
        const wanted = addresses.filter(({ family }) => !options.family || options.family === family);
        const [first] = wanted;
        if (first === undefined) {
          callback(Object.assign(new Error(`${host} has no address`), { code: "ENOTFOUND" }), "", 0);
          return;
        }
        for (const { address } of addresses) {
          const verdict = policy.judge(address, host);
          if (!verdict.allowed) {
            callback(new EgressRefused(verdict.message), "", 0);
            return;
          }
        }
        if (options.all) callback(null, [...wanted]);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, "", 0),
    );
  };
  const connect = buildConnector({
    timeout: timeoutMs,
    rejectUnauthorized: true,
    minVersion: "TLSv1.2",
    ...(extraCa === undefined ? {} : { ca: [...extraCa] }),
    ...{ lookup },
  });

  return (options, onSocket, callback) => {
    const host = options.hostname;
    if (isIP(host) !== 0) {
      const verdict = policy.judge(host, host);
      if (!verdict.allowed) {
        callback(new EgressRefused(verdict.message), null);
        return;
      }
    }
    const opening = connect(options, (...[error, socket]) => {
      if (error !== null) {
        callback(error, null);
        return;
      }
      const verdict = policy.judge(socket.remoteAddress ?? "", host);
      if (verdict.allowed) {
        callback(null, socket);
        return;
      }
      socket.destroy();
      callback(new EgressRefused(verdict.message), null);
    }) as unknown as Socket;
    onSocket(opening);
  };
}
