import type { PartitionReport } from "./partition-reports.js";

/** The other partitions of a cluster, for the collector of the control partition. */
export interface OtherPartitions {
  readonly node: string;
  readonly partitions: readonly number[];
  /** Rejects if the partition has no owner, or it cannot be reached. */
  report(partition: number): Promise<PartitionReport>;
}

/** Asks the other partitions what is wrong there. One that cannot be asked counts as it was. */
export class OtherReports {
  readonly #others: OtherPartitions;
  readonly #known = new Map<number, PartitionReport>();

  constructor(others: OtherPartitions) {
    this.#others = others;
  }

  get node(): string {
    return this.#others.node;
  }

  get reports(): readonly PartitionReport[] {
    return [...this.#known.values()];
  }

  /** Whether every partition has answered once. Before, nobody knows what is over. */
  get areComplete(): boolean {
    return this.#known.size === this.#others.partitions.length;
  }

  async read(): Promise<void> {
    await Promise.all(
      this.#others.partitions.map(async (partition) => {
        const report = await this.#others.report(partition).catch(() => undefined);
        if (report !== undefined) this.#known.set(partition, report);
      }),
    );
  }
}
