import type { ConfigStore } from "@sluice/event-log";
import type { CancelTimer, Clock } from "@sluice/resilience";
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
  /** Adds what an earlier process remembered. */
  restore(keys: readonly WrongKey[]): void;
}

/** A flood of invented keys and addresses makes the earliest ones give way: at most 100 of at most 250 characters. */
const MOST = 100;
/** Shown of a key: enough to find it, too little to use it. Of a short key, a third. */
const PREFIX_LENGTH = 8;
const CLIENT_LENGTH = 100;
const KEPT_MS = 7 * 86_400_000;

export function wrongKeys(clock: Pick<Clock, "now">): WrongKeys {
  const byClient = new LRUCache<string, WrongKey>({ max: MOST });
  const idOf = ({ keyPrefix, address, client }: Pick<WrongKey, "keyPrefix" | "address" | "client">): string =>
    JSON.stringify([keyPrefix, address, client]);
  return {
    add(request) {
      const keyPrefix = prefixOf(request.writeKey);
      const address = clientGroup(request.address);
      const client = request.client?.slice(0, CLIENT_LENGTH);
      const nowMs = clock.now();
      const id = idOf({ keyPrefix, address, client });
      const known = byClient.get(id);
      byClient.set(id, {
        ...{ keyPrefix, address, client },
        requests: (known?.requests ?? 0) + 1,
        firstMs: known?.firstMs ?? nowMs,
        lastMs: nowMs,
      });
    },
    read: () => [...byClient.values()].filter(({ lastMs }) => lastMs > clock.now() - KEPT_MS),
    restore(keys) {
      for (const key of keys.toReversed()) if (!byClient.has(idOf(key))) byClient.set(idOf(key), key);
    },
  };
}

/** One document of at most 30 KB, written at most once in this time. */
const STORE_EVERY_MS = 60_000;
const KIND = "wrong_keys";
const ID = "latest";

/** Goes on with the keys that were stored, and stores new ones regularly until it is closed. */
export async function keepWrongKeys(
  keys: WrongKeys,
  { clock, config }: { readonly clock: Pick<Clock, "after">; readonly config: ConfigStore },
): Promise<{ close(): Promise<void> }> {
  keys.restore((await config.get<readonly WrongKey[]>(KIND, ID))?.value ?? []);
  let stored = JSON.stringify(keys.read());
  const store = async (): Promise<void> => {
    const now = keys.read();
    if (JSON.stringify(now) === stored) return;
    stored = JSON.stringify(now);
    // Others report that the store cannot be written. The next write includes these keys.
    await config.put(KIND, ID, now).catch(() => {
      stored = "";
    });
  };
  let writing: Promise<void> = Promise.resolve();
  let cancel: CancelTimer = () => {};
  const begin = (): void => {
    cancel = clock.after(STORE_EVERY_MS, () => {
      writing = store().then(begin);
    });
  };
  begin();
  return {
    async close() {
      cancel();
      await writing;
      cancel();
      await store();
    },
  };
}

function prefixOf(key: string | undefined): string | undefined {
  return key?.slice(0, Math.min(PREFIX_LENGTH, Math.ceil(key.length / 3)));
}
