import { join } from "node:path";
import { type DefinedDestination, defineDestination, type SettingsSchema } from "@sluice/destination";
import { KB } from "@sluice/protocol";

import { openRotatingFile, type RotatingFile, type RotatingFileOptions } from "./rotating-file.js";

export interface FileSettings {
  /** A plain file name in the exports folder. */
  readonly fileName: string;
  /** A file that would grow larger than this is rotated. */
  readonly maxBytes: number;
  /** Rotated files to keep; the oldest is deleted first. */
  readonly maxFiles: number;
}

/**
 * No folder and no hidden file, because a collector administrator is not a machine administrator. No number at the end,
 * because `x.jsonl.1` is the name of a rotated `x.jsonl`, which may be another destination's.
 */
const FILE_NAME = /^(?!.*\.[0-9]+$)[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$/;

const SCHEMA: SettingsSchema = {
  type: "object",
  additionalProperties: false,
  properties: {
    fileName: {
      title: "File name",
      description: "In the collector's exports folder",
      type: "string",
      pattern: FILE_NAME.source,
      rule: "a plain file name (letters, digits, dot, dash, underscore), without folders and without a number at its end such as `.1`: rotated files are named so",
      default: "messages.jsonl",
    },
    maxBytes: {
      title: "Rotate at (bytes)",
      type: "integer",
      minimum: 64 * KB,
      default: 64 * KB * KB,
    },
    maxFiles: {
      title: "Rotated files kept",
      type: "integer",
      minimum: 1,
      maximum: 1_000,
      default: 10,
    },
  },
};

/** Appends each message as a line of JSON to a file of the exports folder, synced before it counts as delivered. */
export function fileDestination(folder: string): DefinedDestination {
  const files = sharedFiles();
  return defineDestination<FileSettings>({
    type: "file",
    name: "File",
    settings: SCHEMA,
    target: ({ fileName }) => `file:${fileName}`,
    // Lines that are written at one moment share one sync.
    flow: () => ({ concurrency: 500, order: "none" }),
    async open({ fileName, maxBytes, maxFiles }) {
      const file = await files.open({ path: join(folder, fileName), maxBytes, maxFiles });
      return {
        async deliver({ payload }) {
          try {
            await file.append(`${JSON.stringify(payload)}\n`);
            return { kind: "delivered", reason: "written" };
          } catch (error) {
            const { code, message } = error as NodeJS.ErrnoException;
            const detail = `The file cannot be written (${code ?? message})`;
            return { kind: "retry", reason: `write_failed: ${code ?? message}`, detail };
          }
        },
        close: () => file.close(),
      };
    },
  });
}

/** Opens each file once and shares it between destinations. Two independent writers would both rotate it. */
interface SharedFiles {
  /** If the file is already open, its existing size and rotation limits stay in effect. */
  open(options: RotatingFileOptions): Promise<RotatingFile>;
}

interface Shared {
  readonly file: Promise<RotatingFile>;
  writers: number;
  /** Set when the last writer has closed the file. Opening the file again waits for this. */
  closing?: Promise<void>;
}

function sharedFiles(): SharedFiles {
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
