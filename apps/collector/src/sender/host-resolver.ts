import { lookup as systemLookup } from "node:dns/promises";
import type { Clock } from "@sluice/resilience";
import { LRUCache } from "lru-cache";
import type { ResolvedAddress, ResolveHost } from "./checked-connector.js";

type Addresses = readonly ResolvedAddress[];

export interface HostResolverOptions {
  readonly clock: Clock;
  /** Resolves a name. Default: the resolver of the operating system. */
  readonly lookup?: (host: string) => Promise<Addresses>;
}

/** How long an answer is used without asking again. Connections stay open for longer than that. */
const FRESH_MS = 5_000;
/** How long an old answer is used if a new one does not come. Its addresses are checked again for each connection. */
const STALE_MS = 10 * 60_000;
/** A name whose lookup takes longer is slow, and waits for the one place of slow names. */
const SLOW_MS = 500;
/** Names to remember. */
const MAX_NAMES = 1_000;

/**
 * Concurrent lookups. The system resolves names in the same four threads in which the process syncs files: one stays free for that,
 * quick names share two, slow names have one.
 */
const PLACES = { quick: 2, slow: 1 } as const;
type Lane = keyof typeof PLACES;

interface Name {
  answer?: { readonly addresses: Addresses; readonly atMs: number };
  lane: Lane;
  underWay?: Promise<Addresses>;
}

/**
 * Resolves names so that an unresponsive name server only affects its own names. Concurrent lookups of a name are shared, slow names
 * wait for each other, and a recent answer is used while a new one is late.
 */
export function hostResolver({ clock, lookup = fromSystem }: HostResolverOptions): ResolveHost {
  const names = new LRUCache<string, Name>({ max: MAX_NAMES });
  const free: Record<Lane, number> = { ...PLACES };
  const queues: Record<Lane, (() => void)[]> = { quick: [], slow: [] };

  const enter = (lane: Lane): Promise<void> | undefined => {
    if (free[lane] > 0) {
      free[lane] -= 1;
      return undefined;
    }
    return new Promise((resolve) => queues[lane].push(resolve));
  };
  const leave = (lane: Lane): void => {
    const next = queues[lane].shift();
    if (next === undefined) free[lane] += 1;
    else next();
  };

  const ask = async (host: string, name: Name): Promise<Addresses> => {
    let { lane } = name;
    const turn = enter(lane);
    if (turn !== undefined) await turn;
    const startedAtMs = clock.monotonic();
    const markSlow = clock.after(SLOW_MS, () => {
      name.lane = "slow";
      if (lane === "slow" || free.slow === 0) return;
      // Move to the slow lane, so that two names that turn out slow do not block both quick places.
      free.slow -= 1;
      leave(lane);
      lane = "slow";
    });
    try {
      const addresses = await lookup(host);
      name.answer = { addresses, atMs: clock.monotonic() };
      return addresses;
    } finally {
      markSlow();
      if (clock.monotonic() - startedAtMs <= SLOW_MS) name.lane = "quick";
      delete name.underWay;
      leave(lane);
    }
  };

  const nameOf = (host: string): Name => {
    const known = names.get(host);
    if (known !== undefined) return known;
    const name: Name = { lane: "quick" };
    names.set(host, name);
    return name;
  };

  return async (host) => {
    const name = nameOf(host);
    const { answer } = name;
    const ageMs = answer === undefined ? Number.POSITIVE_INFINITY : clock.monotonic() - answer.atMs;
    if (answer !== undefined && ageMs < FRESH_MS) return answer.addresses;
    name.underWay ??= ask(host, name);
    if (answer === undefined || ageMs > STALE_MS) return name.underWay;
    return orStale(name.underWay, answer.addresses, clock);
  };
}

/** The new answer, or the last one if the new one is late or the name server fails temporarily. */
function orStale(asked: Promise<Addresses>, last: Addresses, clock: Clock): Promise<Addresses> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(SLOW_MS, () => resolve(last));
    asked.then(
      (addresses) => {
        cancel();
        resolve(addresses);
      },
      (error: NodeJS.ErrnoException) => {
        cancel();
        if (error.code === "EAI_AGAIN") resolve(last);
        else reject(error);
      },
    );
  });
}

function fromSystem(host: string): Promise<Addresses> {
  return systemLookup(host, { all: true, order: "verbatim" });
}
