import { open } from "node:fs/promises";
import type { RejectIssue } from "./prepare-message.js";

/** A refused record, as a line of the reject file. */
export interface Reject {
  readonly line: number;
  readonly issues: readonly RejectIssue[];
  readonly raw: string;
}

/** Appends refused records as JSON lines. The file is created with the first one. */
export interface RejectFile {
  /** The length of the file; 0 if nothing was written. */
  bytes(): number;
  write(rejects: readonly Reject[]): Promise<void>;
  close(): Promise<void>;
}

export function rejectFile(path: string): RejectFile {
  let file: Awaited<ReturnType<typeof open>> | undefined;
  let bytes = 0;
  return {
    bytes: () => bytes,
    async write(rejects) {
      if (rejects.length === 0) return;
      file ??= await open(path, "a", 0o600);
      if (bytes === 0) bytes = (await file.stat()).size;
      const text = rejects.map((reject) => `${JSON.stringify(reject)}\n`).join("");
      await file.appendFile(text);
      bytes += Buffer.byteLength(text);
    },
    async close() {
      await file?.close();
    },
  };
}
