import { cpSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { StartStoreThread } from "../../../packages/event-log/src/sqlite/client/start-worker.js";
import { ThreadInThisThread } from "./thread-in-this-thread.js";

/** What is left of a process's copy when it starts again. */
export type AfterCrash =
  /** Everything that it wrote. */
  | "kept"
  /** As it was when the process before started: a power cut, and a backup that was put back, lose the newest entries. */
  | "older"
  /** Nothing: the disk was replaced. */
  | "lost";

/** The data folder of one process of a cluster. */
export class CopyFolder {
  readonly #root: string;
  #generation = 0;
  #threads: ThreadInThisThread[] = [];

  constructor(root: string) {
    this.#root = root;
    mkdirSync(this.path, { recursive: true });
  }

  /** Where it is now. A process that follows a crash gets a copy of the files: the former one still has them open. */
  get path(): string {
    return join(this.#root, String(this.#generation));
  }

  /** As it was at the last start. */
  get #older(): string {
    return join(this.#root, "older");
  }

  /** A process starts. */
  start(): void {
    rmSync(this.#older, { recursive: true, force: true });
    cpSync(this.path, this.#older, { recursive: true });
  }

  /** Starts the threads of this process. */
  readonly startThread: StartStoreThread = (options) => {
    const thread = new ThreadInThisThread(options);
    this.#threads.push(thread);
    return thread;
  };

  /** The process ends without warning. */
  crash(after: AfterCrash): void {
    const before = this.path;
    this.#generation += 1;
    if (after === "kept") cpSync(before, this.path, { recursive: true });
    else if (after === "older" && existsSync(this.#older))
      cpSync(this.#older, this.path, { recursive: true });
    else mkdirSync(this.path);
    this.close();
    rmSync(before, { recursive: true, force: true });
  }

  /** Closes what is open. */
  close(): void {
    for (const thread of this.#threads.splice(0)) thread.kill();
  }
}
