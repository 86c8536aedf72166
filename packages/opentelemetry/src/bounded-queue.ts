/** `code` 0: it was exported. */
interface ExportResult {
  readonly code: number;
}

/** An exporter of spans or log records. */
interface Exporter<T> {
  export(items: T[], done: (result: ExportResult) => void): void;
}

/**
 * Counts what is queued and what is lost, around a batch processor of the SDK, which drops silently. The processor holds at most
 * `maxQueueSize` items, and one batch that is being sent.
 */
export interface BoundedQueue {
  /** Whether the processor has room. If not, the item counts as dropped. */
  admit(): boolean;
  /** The exporter that the processor gets. */
  watch<T, E extends Exporter<T>>(exporter: E): E;
}

export function boundedQueue(maxQueueSize: number, onDropped: (count: number) => void): BoundedQueue {
  let queued = 0;
  return {
    admit() {
      if (queued >= maxQueueSize) {
        onDropped(1);
        return false;
      }
      queued++;
      return true;
    },
    watch(exporter) {
      const inner = exporter.export.bind(exporter);
      exporter.export = (items, done) => {
        queued -= items.length;
        inner(items, (result) => {
          if (result.code !== 0) onDropped(items.length);
          done(result);
        });
      };
      return exporter;
    },
  };
}
