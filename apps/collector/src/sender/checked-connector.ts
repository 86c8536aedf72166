import { isIP, type LookupFunction, type Socket } from "node:net";
import type { buildConnector as Undici } from "undici";
import type { EgressPolicy } from "./egress-policy.js";
import { buildConnector } from "./undici.js";

/** An address of a host name. */
export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

/** Resolves all addresses of a name, in the order in which to try them. */
export type ResolveHost = (host: string) => Promise<readonly ResolvedAddress[]>;

/** The connection was not opened, because requests to its address are not allowed. */
export class EgressRefused extends Error {
  override readonly name = "EgressRefused";
  readonly code = "ERR_EGRESS_REFUSED";
}

export interface ConnectorOptions {
  readonly policy: EgressPolicy;
  readonly resolve: ResolveHost;
  /** Certificates in PEM to trust in addition to the usual ones. */
  readonly extraCa?: readonly string[];
  /** Limit for connect and TLS handshake together, in milliseconds. */
  readonly timeoutMs: number;
}

/** Opens a connection. Passes the socket to `onSocket` at once, so that it can be destroyed while it connects. */
export type CheckedConnector = (
  options: Undici.Options,
  onSocket: (socket: Socket) => void,
  callback: Undici.Callback,
) => void;

/**
 * Connects only where the policy allows. It judges the addresses that are really used: an address literal before anything is opened
 * (the lookup hook is not called for it), a name by the addresses of the one lookup that the connection then uses, and the remote
 * address again once connected. A name with a forbidden address is refused even if it has others: honest public names have none.
 * TLS checks chain, name and expiry, and needs version 1.2, whatever the environment says.
 */
export function checkedConnector({
  policy,
  resolve,
  extraCa,
  timeoutMs,
}: ConnectorOptions): CheckedConnector {
  const connect = buildConnector({
    timeout: timeoutMs,
    rejectUnauthorized: true,
    minVersion: "TLSv1.2",
    ...(extraCa === undefined ? {} : { ca: [...extraCa] }),
    ...{ lookup: checkedLookup(policy, resolve) },
  });
  const refusal = (address: string, host: string): EgressRefused | undefined => {
    const verdict = policy.judge(address, host);
    return verdict.allowed ? undefined : new EgressRefused(verdict.message);
  };

  return (options, onSocket, callback) => {
    const host = options.hostname;
    const refused = isIP(host) === 0 ? undefined : refusal(host, host);
    if (refused !== undefined) {
      callback(refused, null);
      return;
    }
    const opening = connect(options, (...[error, socket]) => {
      if (error !== null) {
        callback(error, null);
        return;
      }
      const refusedRemote = refusal(socket.remoteAddress ?? "", host);
      if (refusedRemote === undefined) {
        callback(null, socket);
        return;
      }
      socket.destroy();
      callback(refusedRemote, null);
    }) as unknown as Socket;
    onSocket(opening);
  };
}

function checkedLookup(policy: EgressPolicy, resolve: ResolveHost): LookupFunction {
  return (host, options, callback) => {
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
}
