import { EventEmitter } from "node:events";
import { syncBuiltinESMExports } from "node:module";
import workerThreads, { type Transferable } from "node:worker_threads";
import type { World } from "./world.js";

/** A thread that has ports. */
export interface PortOwner {
  readonly isAlive: boolean;
  /** Nothing comes to it, or from it, before this time since the world began. */
  readonly heldUntilMs: number;
  /** How long its calls of the store are on their way, in milliseconds. */
  readonly delayMs: number;
}

interface Sent {
  readonly message: unknown;
  readonly ports: readonly SimulatedPort[];
  /** Absent: the port was closed. */
  readonly isClose?: true;
  readonly readyMs: number;
}

/** A `MessagePort` between threads that all run in this one. Messages are cloned when they are sent, keep their order, and take a while. */
export class SimulatedPort extends EventEmitter {
  /** The thread that has it. Undefined: the main thread, or the store's. */
  owner: PortOwner | undefined;
  /** Sees each message that arrives, and may take it. */
  onArriving: (message: unknown) => boolean = () => true;
  /** A port has come to its thread with a message. */
  onTaking: (port: SimulatedPort) => void = () => {};
  /** Sees each message that is sent. */
  onSending: (message: unknown) => void = () => {};
  readonly #world: World;
  #other: SimulatedPort | undefined;
  readonly #underWay: Sent[] = [];
  #isMoving = false;
  /** What arrived before anybody listened. */
  readonly #early: Sent[] = [];
  #isClosed = false;
  #leadsToStore = false;

  private constructor(world: World) {
    super();
    this.#world = world;
  }

  static pair(world: World): [SimulatedPort, SimulatedPort] {
    const [one, other] = [new SimulatedPort(world), new SimulatedPort(world)];
    one.#other = other;
    other.#other = one;
    return [one, other];
  }

  /** It is the store's end of a channel. */
  isOfStore(): void {
    if (this.#other !== undefined) this.#other.#leadsToStore = true;
  }

  postMessage(message: unknown, transfer: readonly unknown[] = []): void {
    if (this.#isClosed || this.owner?.isAlive === false) return;
    this.onSending(message);
    const ports = transfer.filter((one) => one instanceof SimulatedPort);
    this.#send({ message: cloned(message, transfer), ports, readyMs: this.#readyMs() });
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.owner?.isAlive !== false) this.end();
    setImmediate(() => this.emit("close"));
  }

  /** Its thread has ended. What it sent before still arrives. */
  end(): void {
    this.#send({ message: undefined, ports: [], isClose: true, readyMs: this.#readyMs() });
  }

  /** The process has ended: nothing that is under way arrives. */
  cut(): void {
    this.#isClosed = true;
    this.#underWay.length = 0;
    this.removeAllListeners();
  }

  override on(event: string, listener: (value: unknown) => void): this {
    super.on(event, listener);
    if (event === "message")
      setImmediate(() => {
        for (const sent of this.#early.splice(0)) this.#arrive(sent);
      });
    return this;
  }

  unref(): void {}

  #readyMs(): number {
    return this.#world.elapsedMs + (this.#leadsToStore ? (this.owner?.delayMs ?? 0) : 0);
  }

  #send(sent: Sent): void {
    this.#underWay.push(sent);
    if (!this.#isMoving) this.#move();
  }

  /** Lets the first message arrive when it can, then the next one. */
  #move(): void {
    const [first] = this.#underWay;
    this.#isMoving = first !== undefined;
    if (first === undefined) return;
    const { elapsedMs } = this.#world;
    const held = Math.max(this.owner?.heldUntilMs ?? 0, this.#other?.owner?.heldUntilMs ?? 0);
    const readyMs = Math.max(first.readyMs, held);
    if (readyMs > elapsedMs) {
      this.#world.after(readyMs - elapsedMs, () => this.#move());
      return;
    }
    // By the agenda, so that no two threads go on for ever while a third one's message waits for this moment.
    this.#world.after(0, () => {
      const sent = this.#underWay.shift();
      if (sent !== undefined) (this.#other as SimulatedPort).#arrive(sent);
      this.#move();
    });
  }

  #arrive(sent: Sent): void {
    if (this.#isClosed || this.owner?.isAlive === false) return;
    for (const port of sent.ports) {
      port.owner = this.owner;
      port.onTaking = this.onTaking;
      this.onTaking(port);
    }
    if (sent.isClose) {
      this.#isClosed = true;
      this.emit("close");
    } else if (this.listenerCount("message") === 0) this.#early.push(sent);
    else if (this.onArriving(sent.message)) this.emit("message", sent.message);
  }
}

/** A copy as the other thread gets it. */
export function cloned(message: unknown, transfer: readonly unknown[] = []): unknown {
  const ports = transfer.filter((one) => one instanceof SimulatedPort);
  const buffers = transfer.filter((one) => !(one instanceof SimulatedPort)) as Transferable[];
  const copy = structuredClone(ports.length === 0 ? message : replaced(message, toPlace(ports)), {
    transfer: buffers as ArrayBuffer[],
  });
  return ports.length === 0 ? copy : replaced(copy, toPort(ports));
}

const PLACE = "port of place";

function toPlace(ports: readonly SimulatedPort[]): (value: unknown) => unknown {
  return (value) => (value instanceof SimulatedPort ? { [PLACE]: ports.indexOf(value) } : value);
}

function toPort(ports: readonly SimulatedPort[]): (value: unknown) => unknown {
  return (value) => {
    const place = (value as Record<string, unknown> | null | undefined)?.[PLACE];
    return typeof place === "number" ? ports[place] : value;
  };
}

/** The same with its parts replaced, as deep as plain objects and arrays go. */
function replaced(value: unknown, replace: (value: unknown) => unknown): unknown {
  const now = replace(value);
  if (now !== value || typeof value !== "object" || value === null) return now;
  if (Array.isArray(value)) return value.map((part) => replaced(part, replace));
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, replaced(part, replace)]));
}

/** Makes channels of Node.js simulated ones. Returns a function that ends it. */
export function simulatePorts(world: World): () => void {
  const { MessageChannel, receiveMessageOnPort } = workerThreads;
  class SimulatedChannel {
    readonly port1: SimulatedPort;
    readonly port2: SimulatedPort;

    constructor() {
      [this.port1, this.port2] = SimulatedPort.pair(world);
    }
  }
  Object.assign(workerThreads, {
    MessageChannel: SimulatedChannel,
    // What arrived was taken at once.
    receiveMessageOnPort: (port: never) =>
      (port as unknown) instanceof SimulatedPort ? undefined : receiveMessageOnPort(port),
  });
  syncBuiltinESMExports();
  return () => {
    Object.assign(workerThreads, { MessageChannel, receiveMessageOnPort });
    syncBuiltinESMExports();
  };
}
