import { lookup as systemLookup } from "node:dns/promises";
import type { Clock } from "@sluice/resilience";
import type { ResolvedAddress, ResolveHost } from "./checked-connector.js";

type Addresses = readonly ResolvedAddress[];

export interface HostResolverOptions {
  readonly clock: Clock;
  /** Asks the name servers. Default: the system, as every other program on the machine does. */
  readonly lookup?: (host: string) => Promise<Addresses>;
}

/** How long an answer is taken for the present one. Connections are kept open for longer than that. */
const FRESH_MS = 5_000;
/** How long an answer stands in for one that does not come: the addresses are judged again for each connection. */
const STAND_IN_MS = 10 * 60_000;
/** A name whose look-up takes longer is slow: it waits for the one place that slow names have. */
const SLOW_MS = 500;
/** Names that are remembered; the one asked for longest ago is forgotten first. */
const MOST_NAMES = 1_000;

/**
 * Places for look-ups under way. The system resolves in the four threads that the process also syncs its files in: one stays
 * free for that, and names that answer share two.
 */
const PLACES = { quick: 2, slow: 1 } as const;
type Lane = keyof typeof PLACES;

interface Name {
  answer?: { readonly addresses: Addresses; readonly atMs: number };
  lane: Lane;
  underWay?: Promise<Addresses>;
}

/**
 * Resolves names so that a name server that does not answer costs nobody but its own names: look-ups of one name are one, those of
 * slow names wait for each other, and where the last answer is not old it stands in for one that is late.
 */
export function hostResolver({ clock, lookup = fromSystem }: HostResolverOptions): ResolveHost {
  const names = new Map<string, Name>();
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
      // It moves over, so that two names nobody knew to be slow do not hold both of the others' places.
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
    const name: Name = names.get(host) ?? { lane: "quick" };
    names.delete(host);
    names.set(host, name);
    for (const [oldest, { underWay }] of names) {
      if (names.size <= MOST_NAMES) break;
      if (underWay === undefined) names.delete(oldest);
      else break;
    }
    return name;
  };

  return async (host) => {
    const name = nameOf(host);
    const { answer } = name;
    const ageMs = answer === undefined ? Number.POSITIVE_INFINITY : clock.monotonic() - answer.atMs;
    if (answer !== undefined && ageMs < FRESH_MS) return answer.addresses;
    name.underWay ??= ask(host, name);
    if (answer === undefined || ageMs > STAND_IN_MS) return name.underWay;
    return standIn(name.underWay, answer.addresses, clock);
  };
}

/** The new answer, or the last one where the new one is late, or the name server says that it cannot tell now. */
function standIn(asked: Promise<Addresses>, last: Addresses, clock: Clock): Promise<Addresses> {
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
