import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Store } from "@sluice/event-log";
import { OWNER_KEY, readLease, writeLease } from "../../../apps/collector/src/cluster/ownership/lease.js";
import {
  type MemoryEngines,
  openMemoryEngines,
} from "../../../packages/event-log/test/memory-engine/open-memory-engines.js";
import { contentsOf } from "../../../packages/event-log/test/replicated/copy-contents.js";
import type { CopyAtRest } from "../invariants/invariant.js";
import { CopyFolder } from "../world/copy-folder.js";
import type { Disk } from "../world/disk.js";
import { EngineNetwork } from "../world/engine-network.js";
import { Link } from "../world/link.js";
import { Machine } from "../world/machine.js";
import type { Random } from "../world/random.js";
import type { World } from "../world/world.js";
import { callApi, readMetrics } from "./call-api.js";
import { ClusterNodeActor } from "./cluster-node.js";
import type { History } from "./history.js";
import { LogObserver } from "./log-observer.js";
import type { ServedAnswer, ServedRequest } from "./memory-server.js";
import { peerConnection } from "./peer-connection.js";
import type { Receivers } from "./receivers.js";
import type { Site } from "./site.js";

export interface ClusterActorOptions {
  readonly world: World;
  readonly history: History;
  /** That of the engine's servers. */
  readonly disk: Disk;
  readonly receivers: Receivers;
  /** The folder of all copies. */
  readonly folder: string;
}

const NODES = ["a", "b"];

/** Two processes of a cluster, their engine, and a load balancer in front of them. */
export class ClusterActor implements Site {
  readonly machine: Machine;
  readonly engines: MemoryEngines;
  readonly nodes: readonly ClusterNodeActor[];
  readonly #options: ClusterActorOptions;
  readonly #observer: LogObserver;
  readonly #random: Random;
  #onOwner: (() => void)[] = [];

  constructor(options: ClusterActorOptions) {
    const { world, history, disk, folder } = options;
    this.#options = options;
    this.#random = world.random.fork("load balancer");
    this.machine = new Machine(world, "collector");
    this.engines = openMemoryEngines();
    this.#observer = new LogObserver(this.engines, world, history, () => this.#tookOver());
    const engine = this.engines.engineFor("servers");
    const link = new Link(world, "between collectors");
    this.nodes = NODES.map(
      (name) =>
        new ClusterNodeActor({
          ...options,
          machine: this.machine,
          name,
          folder: new CopyFolder(join(folder, name)),
          network: new EngineNetwork(world, name, disk),
          engine,
          connect: (address) =>
            peerConnection(address, link, () => this.nodes.find((node) => node.url === address)?.server),
          onOwner: () => this.#ownerChanged(),
        }),
    );
  }

  get runs(): number {
    return this.#options.history.runs.length;
  }

  /** The process that takes requests as the owner. Of two that believe so, the one that took over last. */
  get owner(): ClusterNodeActor | undefined {
    const { runs } = this.#options.history;
    return this.nodes
      .filter(({ leadership }) => leadership?.isReady === true)
      .toSorted(
        (a, b) => runs.indexOf(b.leadership?.run ?? NO_RUN) - runs.indexOf(a.leadership?.run ?? NO_RUN),
      )
      .at(0);
  }

  get timers(): number {
    return this.owner?.clock?.pending ?? 0;
  }

  get store(): Store {
    const store = this.owner?.leadership?.store;
    if (store === undefined) throw new Error("The cluster has no owner");
    return store;
  }

  async start(): Promise<void> {
    for (const node of this.nodes) node.start();
    while (this.owner === undefined) await new Promise<void>((resolve) => this.#onOwner.push(resolve));
  }

  crash(): void {
    (this.owner ?? this.nodes.find(({ isRunning }) => isRunning))?.crash("kept");
  }

  async stop(graceMs: number): Promise<void> {
    await this.owner?.stop(graceMs);
  }

  /** A process that does not own the log takes the lease, as one does whose clock runs too fast. The log decides. */
  async depose(): Promise<void> {
    const { owner } = this;
    const next = this.nodes.find((node) => node !== owner && node.isRunning);
    if (owner === undefined || next === undefined) return;
    const { leases } = this.engines.engineFor("servers");
    const record = await leases.get(OWNER_KEY);
    if (record === undefined) return;
    const lease = readLease(record);
    // Without a holder, whoever sees it first takes it: that is the follower, as the owner still believes that it is its own.
    await leases.put(OWNER_KEY, writeLease({ term: lease.term, holder: undefined }), record.revision);
  }

  notePeak(): void {
    for (const node of this.nodes) node.notePeak();
  }

  /** The load balancer takes any process that runs. */
  readonly serve = async (request: ServedRequest): Promise<ServedAnswer | "refused" | "cut"> => {
    const servers = this.nodes.flatMap(({ server }) => server ?? []);
    return servers.length === 0 ? "refused" : this.#random.pick(servers).serve(request);
  };

  api(method: string, path: string, body?: object): Promise<unknown> {
    return callApi(this.serve, method, path, body);
  }

  metrics(): Promise<Map<string, number>> {
    const { server } = this.owner ?? {};
    return readMetrics((request) => server?.serve(request) ?? Promise.resolve("refused"));
  }

  /** Ends the processes when all have followed the log, and reads what each of them has, and the engine. */
  async copies(): Promise<readonly CopyAtRest[]> {
    const { world } = this.#options;
    const signal = new AbortController().signal;
    for (const { replica } of this.nodes)
      if (replica !== undefined)
        await world.until(replica.caughtUp(signal), 60_000, "a copy that follows the log");
    const copies: CopyAtRest[] = [];
    for (const node of this.nodes) node.crash("kept");
    for (const { name, folder } of this.nodes)
      copies.push({ name, contents: contentsOf(folder.path), text: textOf(join(folder.path, "copy")) });
    return [...copies, ...this.#inEngine()];
  }

  #inEngine(): CopyAtRest[] {
    const { log, snapshots } = this.engines;
    const texts = snapshots.list().map(({ name }) => {
      const bytes = Buffer.from(snapshots.get(name) ?? "");
      return { name: `the snapshot ${name}`, text: bytes.toString("latin1") };
    });
    const entries: CopyAtRest[] = [];
    for (let entry = log.next(log.bounds.first - 1); entry !== undefined; entry = log.next(entry.sequence))
      entries.push({
        name: `the entry ${entry.sequence}`,
        text: Buffer.from(entry.data).toString("latin1"),
        atMs: this.#observer.times.get(entry.sequence) ?? 0,
      });
    return [...texts, ...entries];
  }

  /** Closes everything. */
  remove(): void {
    for (const { folder } of this.nodes) folder.close();
    rmSync(this.#options.folder, { recursive: true, force: true });
  }

  #ownerChanged(): void {
    for (const resolve of this.#onOwner.splice(0)) resolve();
  }

  /** From now on, nothing that other processes write counts, whatever they believe. */
  #tookOver(): void {
    const { world, history } = this.#options;
    for (const { network } of this.nodes) network.deliverSomeHeld();
    for (const run of history.runs) {
      if (run.ended !== undefined) continue;
      const monotonicMs = run.startedMonotonicMs + world.elapsedMs - run.startedAtMs;
      run.ended = { atMs: world.elapsedMs, monotonicMs, how: "crash" };
      run.wasReplaced = true;
    }
  }
}

function textOf(folder: string): string {
  const files = readdirSync(folder).map((file) => readFileSync(join(folder, file)).toString("latin1"));
  return files.join("");
}

const NO_RUN = { startedAtMs: 0, startedMonotonicMs: 0 };
