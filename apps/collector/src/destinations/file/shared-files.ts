import { openRotatingFile, type RotatingFile, type RotatingFileOptions } from "./rotating-file.js";

/** Opens each file once, however many destinations write to it: two writers would rotate it under each other. */
export interface SharedFiles {
  /** Where the file is open already, the sizes and numbers of its first opening hold. */
  open(options: RotatingFileOptions): Promise<RotatingFile>;
}

interface Shared {
  readonly file: Promise<RotatingFile>;
  writers: number;
  /** The last writer has left: whoever opens the file again waits for its end. */
  closing?: Promise<void>;
}

export function sharedFiles(): SharedFiles {
  const open = new Map<string, Shared>();
  return {
    async open(options) {
      const { path } = options;
      for (let closing = open.get(path)?.closing; closing !== undefined; closing = open.get(path)?.closing)
        await closing.catch(() => {});
      const shared: Shared = open.get(path) ?? { file: openRotatingFile(options), writers: 0 };
      open.set(path, shared);
      shared.writers += 1;
      const leave = async (): Promise<void> => {
        shared.writers -= 1;
        if (shared.writers > 0) return;
        shared.closing = shared.file.then((file) => file.close()).finally(() => open.delete(path));
        await shared.closing;
      };
      let file: RotatingFile;
      try {
        file = await shared.file;
      } catch (error) {
        await leave().catch(() => {});
        throw error;
      }
      let isClosed = false;
      return {
        append: (line) => (isClosed ? Promise.reject(new Error("the file is closed")) : file.append(line)),
        async close() {
          if (isClosed) return;
          isClosed = true;
          await leave();
        },
      };
    },
  };
}
