import { memoryProfileStore, type ProfileCommit, type ProfileStore } from "@sluice/event-log";
import type { World } from "./world.js";

/**
 * The file of profiles. Commits without messages are not synced: a crash keeps the first few of those that followed the last sync, and
 * the store is then as it was before the others.
 */
export class ProfileDisk {
  readonly #world: World;
  readonly #random;
  #inner = memoryProfileStore();
  #commits: ProfileCommit[] = [];
  /** So many of the commits are synced. */
  #synced = 0;

  constructor(world: World) {
    this.#world = world;
    this.#random = world.random.fork("profiles");
  }

  /** The store as a process opens it. */
  open(): ProfileStore {
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
      compact: async () => this.sync(),
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
      this.#inner = memoryProfileStore();
      for (const change of this.#commits) void this.#inner.commit(change);
    }
    this.sync();
  }
}
