import { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import type { OpenListener, ServeRequest } from "../../../apps/collector/src/http/server.js";

export interface ServedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export interface ServedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Stands in for the sockets and the parser of node:http: passes requests to the real server, and reads what it writes. */
export class MemoryServer {
  #serve: ServeRequest | undefined;
  #onIdle: (() => void) | undefined;
  readonly #pending = new Set<Exchange>();

  readonly open: OpenListener = async ({ clock }, serve) => {
    this.#serve = serve;
    return {
      port: 80,
      url: "http://127.0.0.1",
      closeIdle: () => {},
      close: (graceMs) => {
        this.#serve = undefined;
        if (this.#pending.size === 0) return Promise.resolve();
        return new Promise((resolve) => {
          const cancel = clock.after(graceMs, () => {
            this.cut();
            resolve();
          });
          this.#onIdle = () => {
            cancel();
            resolve();
          };
        });
      },
    };
  };

  get listens(): boolean {
    return this.#serve !== undefined;
  }

  serve(request: ServedRequest): Promise<ServedAnswer | "refused" | "cut"> {
    const serve = this.#serve;
    if (serve === undefined) return Promise.resolve("refused");
    return new Promise((resolve) => {
      const exchange = new Exchange(request, (answer) => {
        this.#pending.delete(exchange);
        if (this.#pending.size === 0) this.#onIdle?.();
        resolve(answer);
      });
      this.#pending.add(exchange);
      exchange.begin(serve);
    });
  }

  /** Breaks the connections of all requests without an answer. */
  cut(): void {
    this.#serve = undefined;
    for (const exchange of this.#pending) exchange.cut();
  }
}

type OnEnd = (answer: ServedAnswer | "cut") => void;

/** One request over a connection of its own. */
class Exchange {
  readonly #message: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #connection = new Connection();
  readonly #onEnd: OnEnd;

  constructor({ method, path, headers, body }: ServedRequest, onEnd: OnEnd) {
    this.#onEnd = onEnd;
    const socket = this.#connection as unknown as Socket;
    const message = new IncomingMessage(socket);
    const length = body.length === 0 ? {} : { "content-length": String(body.length) };
    const sent = { host: "127.0.0.1", ...headers, ...length };
    Object.assign(message, { method, url: path, httpVersion: "1.1" });
    for (const [name, value] of Object.entries(sent)) {
      message.headers[name.toLowerCase()] = value;
      message.rawHeaders.push(name, value);
    }
    if (body.length > 0) message.push(Buffer.from(body));
    message.complete = true;
    message.push(null);
    this.#message = message;
    this.#response = new ServerResponse(message);
    this.#response.sendDate = false;
    this.#response.assignSocket(socket);
  }

  begin(serve: ServeRequest): void {
    const response = this.#response;
    response.once("finish", () => {
      this.#message.resume();
      response.detachSocket(this.#connection as unknown as Socket);
      response.emit("close");
    });
    response.once("close", () => this.#onEnd(response.writableFinished ? this.#connection.answer : "cut"));
    serve(this.#message, response, false);
  }

  /** The connection breaks. */
  cut(): void {
    this.#message.destroy();
    this.#response.destroy();
  }
}

/** The server's end of a connection: keeps what it writes. */
class Connection extends Duplex {
  readonly remoteAddress = "127.0.0.1";
  #written = "";

  /** What was written, without the framing of HTTP. Answers of a length that is not known beforehand are not asked for. */
  get answer(): ServedAnswer {
    const headEnd = this.#written.indexOf("\r\n\r\n");
    const [status = "", ...lines] = this.#written.slice(0, headEnd).split("\r\n");
    const headers = lines.map((line): [string, string] => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)];
    });
    const body = Buffer.from(this.#written.slice(headEnd + 4), "latin1").toString("utf8");
    return { status: Number(status.split(" ")[1]), headers: Object.fromEntries(headers), body };
  }

  setTimeout(): this {
    return this;
  }

  destroySoon(): void {}

  override _read(): void {}

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.#written += chunk.toString("latin1");
    done();
  }
}
