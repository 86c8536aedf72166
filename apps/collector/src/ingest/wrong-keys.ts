import type { Clock } from "@sluice/resilience";
import { LRUCache } from "lru-cache";
import { clientGroup } from "../http/body/client-group.js";

/** Requests with an unknown write key, from one client with one beginning of a key. Times are wall-clock milliseconds. */
export interface WrongKey {
  /** Undefined: the request named no key. */
  readonly keyPrefix: string | undefined;
  /** An IPv4 address, or the /64 block of an IPv6 address. */
  readonly address: string;
  /** The `User-Agent`, which names the library. */
  readonly client: string | undefined;
  readonly requests: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

/** Remembers who sends with an unknown write key, so that somebody can find the client. */
export interface WrongKeys {
  add(request: {
    readonly writeKey: string | undefined;
    readonly address: string;
    readonly client: string | undefined;
  }): void;
  /** The latest first. */
  read(): readonly WrongKey[];
}

/** A flood of invented keys and addresses makes the earliest ones give way: at most 100 of at most 250 characters. */
const MOST = 100;
/** Shown of a key: enough to find it, too little to use it. Of a short key, a third. */
const PREFIX_LENGTH = 8;
const CLIENT_LENGTH = 100;

export function wrongKeys(clock: Pick<Clock, "now">): WrongKeys {
  const byClient = new LRUCache<string, WrongKey>({ max: MOST });
  return {
    add(request) {
      const keyPrefix = prefixOf(request.writeKey);
      const address = clientGroup(request.address);
      const client = request.client?.slice(0, CLIENT_LENGTH);
      const nowMs = clock.now();
      const id = JSON.stringify([keyPrefix, address, client]);
      const known = byClient.get(id);
      byClient.set(id, {
        ...{ keyPrefix, address, client },
        requests: (known?.requests ?? 0) + 1,
        firstMs: known?.firstMs ?? nowMs,
        lastMs: nowMs,
      });
    },
    read: () => [...byClient.values()],
  };
}

function prefixOf(key: string | undefined): string | undefined {
  return key?.slice(0, Math.min(PREFIX_LENGTH, Math.ceil(key.length / 3)));
}
