import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { api, type ClusterProcess, clusterProcess } from "../../cluster/cluster-processes.ts";
import { freePorts, type NatsCluster, startNatsCluster } from "../../nats/nats-cluster.ts";
import { createDestinations } from "../create-destinations.ts";
import { missing } from "../disk/may.ts";
import { mountInMemory } from "../disk/mounted-disk.ts";
import { type DestinationName, Ledger } from "../ledger.ts";
import { type Receiver, startReceiver } from "../network/receiver.ts";
import { startTcpProxy, type TcpProxy } from "../network/tcp-proxy.ts";
import { type SdkProcess, startSdk } from "../processes/sdk-process.ts";
import { pause, until } from "../until.ts";

const SLUICE = createRequire(import.meta.url).resolve("sluice/bin/sluice.cjs");
const NODES = ["a", "b", "c"] as const;
const USERS = 20;
const PER_SECOND = 60;
const PER_SECOND_SHORT = 30;
/** Short, so that an SDK turns to another process when one stands still. */
const REQUEST_TIMEOUT_MS = 3_000;
const DISK_MB = 160;
const LOG_BYTES = 64 * 1_024 * 1_024;

/** A collector of the cluster, with the connections between it and the NATS servers. */
export interface Member extends ClusterProcess {
  readonly dataFolder: string;
  readonly network: readonly TcpProxy[];
}

export interface ClusterView {
  readonly term: number;
  readonly owner?: { readonly node: string; readonly phase: string };
  readonly members: readonly {
    readonly node: string;
    readonly isAlive: boolean;
    readonly isReady: boolean;
    readonly behindEntries: number;
  }[];
}

/**
 * Three NATS servers, three collectors, the receivers and the applications:
 *
 *   SDK processes ─▶ proxy ─▶ one of three collectors ─▶ proxy ─▶ receiver in this process
 *   HTTP clients ───────────▶ each collector ◀─▶ proxies ◀─▶ three NATS servers
 */
export class ClusterWorld {
  readonly ledger: Ledger;
  readonly isShort: boolean;
  readonly folder: string;
  readonly nats: NatsCluster;
  readonly members: readonly Member[];
  /** Disks that can be filled: of the first NATS server and of the last collector. Empty where mounting is not permitted. */
  readonly disks: { readonly nats?: string; readonly collector?: string };
  readonly isFirstProcess = false;
  destinationIds: ReadonlyMap<string, DestinationName> = new Map();
  hasAudience = false;
  sourceId = "";
  writeKey = "";
  readonly #front: TcpProxy;
  readonly #back: TcpProxy;
  readonly #receiver: Receiver;
  readonly #sdks = new Set<SdkProcess>();
  readonly #closing: (() => void)[];
  #runs = 0;

  private constructor(
    parts: Pick<ClusterWorld, "ledger" | "isShort" | "folder" | "nats" | "members" | "disks">,
    network: { front: TcpProxy; back: TcpProxy; receiver: Receiver },
    closing: (() => void)[],
  ) {
    this.ledger = parts.ledger;
    this.isShort = parts.isShort;
    this.folder = parts.folder;
    this.nats = parts.nats;
    this.members = parts.members;
    this.disks = parts.disks;
    this.#front = network.front;
    this.#back = network.back;
    this.#receiver = network.receiver;
    this.#closing = closing;
  }

  static async open(isShort: boolean): Promise<ClusterWorld> {
    const folder = mkdtempSync(join(tmpdir(), "sluice-chaos-cluster-"));
    const ledger = new Ledger();
    const receiver = await startReceiver(ledger);
    const [front, back] = [await startTcpProxy(), await startTcpProxy()];
    back.target = receiver.port;
    back.onBroken = (port) => receiver.markBroken(port);
    const closing: (() => void)[] = [];
    const disks = mountDisks(folder, closing);
    mkdirSync(join(folder, "nats"), { recursive: true });
    const nats = await startNatsCluster({ directory: join(folder, "nats"), isHidden: true });
    const members = await membersOf(folder, nats);
    const world = new ClusterWorld(
      { ledger, isShort, folder, nats, members, disks },
      { front, back, receiver },
      closing,
    );
    front.target = inTurns(members);
    try {
      await Promise.all(members.map((member) => member.start()));
      await world.#createSource();
    } catch (error) {
      await world.close();
      throw error;
    }
    return world;
  }

  named(node: string): Member {
    const found = this.members.find((member) => member.node === node);
    if (found === undefined) throw new RangeError(`There is no collector ${node}`);
    return found;
  }

  others(member: Member): Member[] {
    return this.members.filter((other) => other !== member);
  }

  /** What one of the processes says about the cluster; undefined while none of them answers. */
  async view(asked: readonly Member[] = this.members): Promise<ClusterView | undefined> {
    for (const { url } of asked) {
      try {
        return await api<ClusterView>(url, "GET", "/cluster");
      } catch {
        // It does not run, or there is no owner just now.
      }
    }
    return undefined;
  }

  get sourceIds(): readonly string[] {
    return [this.sourceId];
  }

  /** The stream with the log, in the cluster of the default name. */
  readonly logStream = "sluice-sluice-log";

  /** The owner as `asked` see it, when one of them is it and serves requests. */
  async owner(asked: readonly Member[] = this.members): Promise<Member> {
    let found: Member | undefined;
    await until("there is an owner", async () => {
      const owner = (await this.view(asked))?.owner;
      found = owner?.phase === "leading" ? asked.find(({ node }) => node === owner.node) : undefined;
      return found !== undefined;
    });
    return found as Member;
  }

  /** How often the log was taken so far. */
  async term(): Promise<number> {
    return (await this.view())?.term ?? 0;
  }

  /** Every process runs, follows and is up to date, and each of them answers. */
  async whole(): Promise<void> {
    let last: unknown;
    await until("the cluster is whole", async () => {
      for (const { url } of this.members) {
        const view = await api<ClusterView>(url, "GET", "/cluster").catch((error) => {
          last = error;
        });
        if (view === undefined) return false;
        last = view;
        const ready = view.members.filter((one) => one.isAlive && one.isReady && one.behindEntries < 50);
        if (ready.length < NODES.length) return false;
        if (view.owner?.phase !== "leading") return false;
      }
      return true;
    }).catch((error: Error) => {
      throw new Error(`${error.message}: ${last instanceof Error ? last.message : JSON.stringify(last)}`);
    });
  }

  /** Asks any process, again while there is no owner. */
  async api<T>(method: string, path: string, body?: object): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      const { url } = this.members[attempt % this.members.length] as Member;
      try {
        return await api<T>(url, method, path, body);
      } catch (error) {
        if (attempt >= 30) throw error;
        await pause(200);
      }
    }
  }

  async metrics(): Promise<string> {
    return (await fetch(`${(await this.owner()).url}/metrics`)).text();
  }

  /** Sends to the source. */
  startSdk(): SdkProcess {
    this.#runs += 1;
    const sdk = startSdk(
      {
        run: `s${this.#runs}`,
        host: `http://127.0.0.1:${this.#front.port}`,
        writeKey: this.writeKey,
        perSecond: this.isShort ? PER_SECOND_SHORT : PER_SECOND,
        users: USERS,
        requestTimeoutMs: REQUEST_TIMEOUT_MS,
      },
      this.ledger,
    );
    this.#sdks.add(sdk);
    return sdk;
  }

  async close(): Promise<void> {
    for (const sdk of this.#sdks) await sdk.kill9();
    for (const member of this.members) {
      await member.signal("SIGCONT");
      await member.signal("SIGKILL");
    }
    await this.nats.close();
    const proxies = [this.#front, this.#back, ...this.members.flatMap(({ network }) => network)];
    await Promise.all([...proxies, this.#receiver].map((one) => one.close()));
    for (const close of this.#closing.reverse()) close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #createSource(): Promise<void> {
    await this.owner();
    const { id, writeKeys } = await this.api<{ id: string; writeKeys: { key: string }[] }>(
      ...(["POST", "/sources", { name: "shop" }] as const),
    );
    this.sourceId = id;
    this.writeKey = writeKeys[0]?.key ?? "";
    const { names, hasAudience } = await createDestinations(
      (...call) => this.api(...call),
      this.sourceIds,
      this.#back.port,
    );
    this.destinationIds = names;
    this.hasAudience = hasAudience;
  }
}

function mountDisks(folder: string, closing: (() => void)[]): ClusterWorld["disks"] {
  if (missing("mount") !== undefined) return {};
  const [nats, collector] = [join(folder, "nats", "n1"), join(folder, "c")];
  for (const mountPoint of [nats, collector]) {
    const disk = mountInMemory(mountPoint, DISK_MB);
    closing.push(() => disk.unmount());
  }
  return { nats, collector };
}

async function membersOf(folder: string, nats: NatsCluster): Promise<Member[]> {
  const ports = await freePorts(NODES.length);
  return Promise.all(
    NODES.map(async (node, index) => {
      const network = await Promise.all(nats.urls.map(proxyTo));
      const dataFolder = join(folder, node, "data");
      mkdirSync(join(folder, node), { recursive: true });
      const one = clusterProcess({
        node,
        port: ports[index] ?? 0,
        directory: folder,
        servers: network.map(({ port }) => `nats://127.0.0.1:${port}`),
        monitors: nats.monitors,
        program: [SLUICE, "collector"],
        env: {
          SLUICE_DATA_DIR: dataFolder,
          SLUICE_CLUSTER_MAX_LOG_BYTES: String(LOG_BYTES),
        },
      });
      return Object.defineProperties(one, {
        dataFolder: { value: dataFolder },
        network: { value: network },
      }) as Member;
    }),
  );
}

async function proxyTo(url: string): Promise<TcpProxy> {
  const proxy = await startTcpProxy();
  proxy.target = Number(new URL(url).port);
  return proxy;
}

/** Each new connection goes to the next process, whether it runs or not. */
function inTurns(members: readonly Member[]): () => number {
  let next = 0;
  return () => Number(new URL((members[next++ % members.length] as Member).url).port);
}
