import type { Clock } from "@sluice/resilience";
import { clientGroup } from "../http/body/client-group.js";
import { Recent } from "../process/telemetry/recent.js";

/** Where requests with an unknown write key came from, so that somebody can find the client. At most 250 characters. */
export interface WrongKey {
  /** Undefined: the request named no key. */
  readonly keyPrefix: string | undefined;
  /** An IPv4 address, or the /64 block of an IPv6 address. */
  readonly address: string;
  /** The `User-Agent`, which names the library. */
  readonly client: string | undefined;
}

export interface WrongKeys {
  readonly recent: Recent<WrongKey>;
  add(request: {
    readonly writeKey: string | undefined;
    readonly address: string;
    readonly client: string | undefined;
  }): void;
}

/** Shown of a key: enough to find it, too little to use it. Of a short key, a third. */
const PREFIX_LENGTH = 8;
const CLIENT_LENGTH = 100;

export function wrongKeys(clock: Pick<Clock, "now">): WrongKeys {
  const recent = new Recent<WrongKey>(clock);
  return {
    recent,
    add: ({ writeKey: key, address, client }) =>
      recent.add({
        keyPrefix: key?.slice(0, Math.min(PREFIX_LENGTH, Math.ceil(key.length / 3))),
        address: clientGroup(address),
        client: client?.slice(0, CLIENT_LENGTH),
      }),
  };
}
