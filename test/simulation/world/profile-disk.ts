import { rmSync } from "node:fs";
import {
  memoryProfileStore,
  openSqliteProfileStore,
  type ProfileCommit,
  type ProfileStore,
} from "@sluice/event-log";
import { newFolder } from "./sqlite-folder.js";
import type { World } from "./world.js";

/**
 * The file of profiles. Commits without messages are not synced: a crash keeps the first few of those that followed the last sync, and
 * the store is then as it was before the others.
 */
export class ProfileDisk {
  readonly #world: World;
  readonly #random;
  #folder: string | undefined;
  #inner: ProfileStore;
  #commits: ProfileCommit[] = [];
  /** So many of the commits are synced. */
  #synced = 0;

  /** `kind`: the store in memory, or the shipped one in a folder. */
  constructor(world: World, kind: "memory" | "file") {
    this.#world = world;
    this.#random = world.random.fork("profiles");
    this.#folder = kind === "file" ? newFolder() : undefined;
    this.#inner = this.#opened();
  }

  /** The store as a process opens it. */
  open(): ProfileStore {
    if (this.#folder !== undefined) {
      void this.#inner.close();
      this.#inner = this.#opened();
    }
    const inner = this.#inner;
    return {
      ...inner,
      commit: (change) => {
        this.#commits.push(change);
        if (change.isSynced === true || (change.pending?.length ?? 0) > 0)
          this.#synced = this.#commits.length;
        return inner.commit(change);
      },
      // Rewrites the file, and syncs it.
      compact: async () => {
        await inner.compact();
        this.sync();
      },
    };
  }

  /** A process has ended as it should: everything is synced. */
  sync(): void {
    this.#synced = this.#commits.length;
  }

  crash(): void {
    const unsynced = this.#commits.length - this.#synced;
    if (unsynced === 0) return;
    const kept = this.#random.integer(0, unsynced);
    this.#world.note(`profiles kept ${kept} of ${unsynced} unsynced commits`);
    if (kept < unsynced) {
      this.#commits = this.#commits.slice(0, this.#synced + kept);
      this.remove();
      if (this.#folder !== undefined) this.#folder = newFolder();
      this.#inner = this.#opened();
      for (const change of this.#commits) void this.#inner.commit(change);
    }
    this.sync();
  }

  remove(): void {
    void this.#inner.close();
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
  }

  #opened(): ProfileStore {
    return this.#folder === undefined
      ? memoryProfileStore()
      : openSqliteProfileStore({ directory: this.#folder });
  }
}
