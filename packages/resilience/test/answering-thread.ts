import { once } from "node:events";
import { Worker } from "node:worker_threads";

/** An HTTP server in a thread of its own, which answers one request while this thread stands still. */
export interface AnsweringThread {
  readonly port: number;
  /** Waits for a request. Then this thread does nothing at all until the answer has arrived and `untilMs` is over, by `now`. */
  standStill(now: () => number, untilMs: number): Promise<void>;
  close(): Promise<void>;
}

const PROGRAM = `
const { flags, tls } = require("node:worker_threads").workerData;
const tell = (at, value) => { Atomics.store(flags, at, value); Atomics.notify(flags, at); };
const answer = (request, response) => {
  request.resume().on("end", () => {
    tell(1, 1);
    Atomics.wait(flags, 2, 0);
    response.writeHead(200, { "content-type": "application/json" }).end("{}", () => tell(3, 1));
  });
};
const server = tls === undefined ? require("node:http").createServer(answer) : require("node:https").createServer(tls, answer);
server.listen(0, "127.0.0.1", () => {
  tell(0, server.address().port);
  require("node:worker_threads").parentPort.postMessage("listening");
});
`;

/** `tls`: a key pair to serve HTTPS. */
export async function answeringThread(tls?: {
  readonly key: string;
  readonly cert: string;
}): Promise<AnsweringThread> {
  /** The port; whether the request was read, this thread stands still, the answer was written. */
  const flags = new Int32Array(new SharedArrayBuffer(16));
  const worker = new Worker(PROGRAM, { eval: true, workerData: { flags, tls } });
  await once(worker, "message");
  return {
    port: Atomics.load(flags, 0),
    async standStill(now, untilMs) {
      while (Atomics.load(flags, 1) === 0) await new Promise((resolve) => setImmediate(resolve));
      Atomics.store(flags, 2, 1);
      Atomics.notify(flags, 2);
      Atomics.wait(flags, 3, 0);
      while (now() < untilMs);
    },
    async close() {
      await worker.terminate();
    },
  };
}
