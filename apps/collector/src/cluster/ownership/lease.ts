import type { LeaseRecord } from "@sluice/event-log";

/** The lease of the log, as it stands in the engine. */
export interface Lease {
  readonly revision: number;
  /** Ascends with each takeover. */
  readonly term: number;
  /** Undefined: the last owner gave it back. */
  readonly holder: LeaseHolder | undefined;
}

export interface LeaseHolder {
  /** The name of the process in the cluster. */
  readonly node: string;
  /** Differs at each start of a process. */
  readonly instance: string;
  /** Where other processes reach it. */
  readonly address: string;
  /** `starting`: it catches up and starts its stages. `leading`: it takes requests. `ending`: it hands over. */
  readonly phase: "starting" | "leading" | "ending";
  /** When it took the lease, by its wall clock. */
  readonly sinceMs: number;
}

/** Its key. */
export const OWNER_KEY = "owner";
const FORMAT = 1;

export function writeLease({ term, holder }: Omit<Lease, "revision">): string {
  return JSON.stringify({ format: FORMAT, term, holder });
}

/** Throws if a newer version of Sluice wrote it. */
export function readLease({ revision, value }: LeaseRecord): Lease {
  const { format, term, holder } = JSON.parse(value) as Lease & { readonly format: number };
  if (format !== FORMAT)
    throw new Error(
      `The cluster's lease has format ${format}, and this version of Sluice knows format ${FORMAT}: upgrade this process`,
    );
  return { revision, term, holder };
}
