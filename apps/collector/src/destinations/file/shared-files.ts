import { openRotatingFile, type RotatingFile, type RotatingFileOptions } from "./rotating-file.js";

/** Opens each file once and shares it between destinations. Two independent writers would both rotate it. */
export interface SharedFiles {
  /** If the file is already open, its existing size and rotation limits stay in effect. */
  open(options: RotatingFileOptions): Promise<RotatingFile>;
}

interface Shared {
  readonly file: Promise<RotatingFile>;
  writers: number;
  /** Set when the last writer has closed the file. Opening the file again waits for this. */
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
