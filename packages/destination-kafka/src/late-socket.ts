import { EventEmitter } from "node:events";
import type { Socket } from "node:net";

const KEEP_ALIVE_MS = 60_000;

/**
 * What kafkajs uses of a socket, for a connection that is still being opened: kafkajs wants its socket at once. Emits `data`, `end` and
 * `error`. Every end that kafkajs did not ask for is an `end` or an `error`, because it does not listen to `close`.
 */
export class LateSocket extends EventEmitter {
  readonly #opening = new AbortController();
  #socket: Socket | undefined;
  /** kafkajs knows that it ended. */
  #isOver = false;
  /** Resolves when there is no connection any more. */
  readonly gone: Promise<void>;

  constructor(open: (signal: AbortSignal) => Promise<Socket>, onConnect: () => void) {
    super();
    this.gone = this.#run(open, onConnect);
  }

  write(data: Uint8Array): void {
    this.#socket?.write(data);
  }

  end(): void {
    this.#isOver = true;
    this.#opening.abort();
    this.#socket?.destroySoon();
  }

  /** For kafkajs, which lets go of a socket that it ended. */
  unref(): void {}

  /** Ends it, with an error for kafkajs. */
  destroy(error: Error): void {
    this.#fail(error);
    this.#opening.abort();
    this.#socket?.destroy();
  }

  async #run(open: (signal: AbortSignal) => Promise<Socket>, onConnect: () => void): Promise<void> {
    let socket: Socket;
    try {
      socket = await open(this.#opening.signal);
    } catch (error) {
      this.#fail(error as Error);
      return;
    }
    const closed = Promise.withResolvers<void>();
    this.#socket = socket;
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    socket.setNoDelay(true);
    socket.on("data", (data) => this.emit("data", data));
    socket.on("error", (error) => this.#fail(error));
    socket.on("close", () => {
      this.#fail(Object.assign(new Error("The connection was closed"), { code: "ECONNRESET" }));
      closed.resolve();
    });
    socket.on("end", () => {
      if (this.#isOver) return;
      this.#isOver = true;
      this.emit("end");
    });
    if (this.#isOver) socket.destroy();
    else onConnect();
    await closed.promise;
  }

  #fail(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.emit("error", error);
  }
}
