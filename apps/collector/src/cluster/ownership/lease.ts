import type { LeaseRecord } from "@sluice/event-log";

/** The lease of a partition, as it stands in the engine. */
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

/** In a cluster of one partition. */
const FORMAT = 1;
/** In a cluster of several: a version that knows only one partition refuses it. */
const FORMAT_OF_SEVERAL = 2;

export function writeLease({ term, holder }: Omit<Lease, "revision">, partitions = 1): string {
  return JSON.stringify({ format: partitions === 1 ? FORMAT : FORMAT_OF_SEVERAL, term, holder });
}

/** Throws if a newer version of Sluice wrote it, or a process with another number of partitions. Without the number, any is right. */
export function readLease({ revision, value }: LeaseRecord, partitions?: number): Lease {
  const { format, term, holder } = JSON.parse(value) as Lease & { readonly format: number };
  if (format !== FORMAT && format !== FORMAT_OF_SEVERAL)
    throw new Error(
      `The cluster's lease has format ${format}, and this version of Sluice knows format ${FORMAT_OF_SEVERAL}: upgrade this process`,
    );
  if (partitions !== undefined && (format === FORMAT) !== (partitions === 1))
    throw new Error(
      `A process of the cluster was started with ${format === FORMAT ? "one partition" : "several partitions"}, and clusterPartitions of this one is ${partitions}: it must be the same for all processes`,
    );
  return { revision, term, holder };
}
