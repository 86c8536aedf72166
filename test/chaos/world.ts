import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDestinations } from "./create-destinations.ts";
import { type DestinationName, Ledger } from "./ledger.ts";
import { type Receiver, startReceiver } from "./network/receiver.ts";
import { startTcpProxy, type TcpProxy } from "./network/tcp-proxy.ts";
import { type CollectorProcess, type StoreKind, startCollector } from "./processes/collector-process.ts";
import { type SdkProcess, type SdkStart, startSdk } from "./processes/sdk-process.ts";
import { pause } from "./until.ts";

const USERS = 20;
const PER_SECOND = 100;
const PER_SECOND_SHORT = 40;
/** Short, so that an SDK notices a black hole during a round. */
const REQUEST_TIMEOUT_MS = 2_000;

export interface CollectorSetting {
  readonly env?: Readonly<Record<string, string>>;
  readonly under?: readonly string[];
}

/**
 * A collector, its receivers and the applications that send to it:
 *
 *   SDK processes ─▶ proxy ─▶ collector process ─▶ proxy ─▶ receiver in this process
 */
export class World {
  readonly ledger: Ledger;
  readonly hasAudience = true;
  readonly folder = mkdtempSync(join(tmpdir(), "sluice-chaos-"));
  readonly store: StoreKind;
  /** Fewer messages. */
  readonly isShort: boolean;
  /** Between the SDKs and the collector. Keeps its port when the collector gets another one. */
  readonly front: TcpProxy;
  /** Between the collector and the receiver. */
  readonly back: TcpProxy;
  readonly receiver: Receiver;
  /** The folder for data. A trouble may put it onto a disk of its own. */
  dataFolder: string;
  isFirstProcess = true;
  readonly destinationIds = new Map<string, DestinationName>();
  #collector: CollectorProcess | undefined;
  #setting: CollectorSetting = {};
  #runs = 0;
  /** Ends of the collector since it last ran. */
  #downs: { readonly over: () => void }[] = [];
  readonly #kills = new Set<() => void>();
  readonly #sdks = new Set<SdkProcess>();
  readonly #closing: (() => void)[] = [];

  private constructor(parts: Pick<World, "store" | "isShort" | "front" | "back" | "receiver" | "ledger">) {
    this.store = parts.store;
    this.isShort = parts.isShort;
    this.front = parts.front;
    this.back = parts.back;
    this.receiver = parts.receiver;
    this.ledger = parts.ledger;
    this.dataFolder = join(this.folder, "data");
  }

  static async open(store: StoreKind, isShort: boolean): Promise<World> {
    const ledger = new Ledger();
    const receiver = await startReceiver(ledger);
    const [front, back] = [await startTcpProxy(), await startTcpProxy()];
    back.target = receiver.port;
    back.onBroken = (port) => receiver.markBroken(port);
    return new World({ store, isShort, front, back, receiver, ledger });
  }

  get collector(): CollectorProcess {
    if (this.#collector === undefined) throw new Error("No collector runs");
    return this.#collector;
  }

  get sourceIds(): readonly string[] {
    return [this.collector.sourceId];
  }

  async metrics(): Promise<string> {
    return (await fetch(`${this.collector.url}/metrics`)).text();
  }

  get isRunning(): boolean {
    return this.#collector !== undefined;
  }

  /** Starts the collector, with the same settings as last time if there are none. `onSpawn` gets a function that kills it at once. */
  async startCollector(setting?: CollectorSetting, onSpawn?: (kill: () => void) => void): Promise<void> {
    this.#setting = setting ?? this.#setting;
    mkdirSync(this.dataFolder, { recursive: true });
    const { store, dataFolder } = this;
    this.#collector = await startCollector({ store, dataFolder, ...this.#setting }, (kill) => {
      this.#kills.add(kill);
      onSpawn?.(kill);
    });
    for (const down of this.#downs.splice(0)) down.over();
    this.front.target = Number(new URL(this.#collector.url).port);
    if (this.destinationIds.size > 0) return;
    const made = await createDestinations((...call) => this.api(...call), this.sourceIds, this.back.port);
    for (const [id, name] of made.names) this.destinationIds.set(id, name);
  }

  /** The collector is killed, and everything that it had not written is gone. */
  async killCollector(): Promise<void> {
    const { collector } = this;
    this.isFirstProcess = false;
    collector.signal("SIGKILL");
    this.#downs.push(this.ledger.interrupt());
    await collector.ended;
    this.#collector = undefined;
  }

  /** Starts the collector and kills it after a while, most often before it is ready. */
  async startAndKill(afterMs: number): Promise<void> {
    const started = await this.startCollector(undefined, (kill) => void pause(afterMs).then(kill)).then(
      () => true,
      () => false,
    );
    if (started) await this.killCollector();
    else this.#downs.push(this.ledger.interrupt());
  }

  /** As an operator stops it. */
  async stopCollector(): Promise<void> {
    const { collector } = this;
    this.isFirstProcess = false;
    collector.signal("SIGTERM");
    const how = await collector.ended;
    this.#collector = undefined;
    if (how !== "0") throw new Error(`The collector ended with ${how} after SIGTERM:\n${collector.log()}`);
  }

  startSdk(options: Pick<SdkStart, "maxRetries" | "spool"> = {}): SdkProcess {
    this.#runs += 1;
    const sdk = startSdk(
      {
        run: `s${this.#runs}`,
        host: `http://127.0.0.1:${this.front.port}`,
        writeKey: this.collector.writeKey,
        perSecond: this.isShort ? PER_SECOND_SHORT : PER_SECOND,
        users: USERS,
        requestTimeoutMs: REQUEST_TIMEOUT_MS,
        ...options,
      },
      this.ledger,
    );
    this.#sdks.add(sdk);
    return sdk;
  }

  /** Calls the control API directly, past the proxy. */
  async api<T>(method: string, path: string, body?: object): Promise<T> {
    const { url, adminToken } = this.collector;
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
    return JSON.parse(text);
  }

  /** Runs when the world closes. */
  onClose(close: () => void): void {
    this.#closing.push(close);
  }

  async close(): Promise<void> {
    for (const sdk of this.#sdks) await sdk.kill9();
    for (const kill of this.#kills) kill();
    await this.#collector?.ended;
    await Promise.all([this.front.close(), this.back.close(), this.receiver.close()]);
    for (const close of this.#closing.reverse()) close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
