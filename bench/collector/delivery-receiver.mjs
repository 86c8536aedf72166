/**
 * Webhook receivers on raw sockets, which cost little compared to what is measured. Runs forked and takes messages:
 * `{listen: n}` → `{ports}`; `{port, mode, afterMs?}` with mode `ok` (after a time, if one is given), `fail` (503), `hang`, `drip`,
 * `dead`; `{report: true}` → per port the count and the latencies (ms) of messages that contain `"sentAtMs":…`, and resets them;
 * `{until: n, port}` → `{reached}` with the CPU time of this process.
 */
import { createServer } from "node:net";

const OK = Buffer.from("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
const FAIL = Buffer.from("HTTP/1.1 503 X\r\ncontent-length: 0\r\n\r\n");
const DRIP = Buffer.from("HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n");
const SENT_AT = Buffer.from('"sentAtMs":');
const LENGTH = Buffer.from("content-length: ");

const ports = new Map();
let wanted;

const nowMs = () => performance.timeOrigin + performance.now();

function accept(state, socket) {
  socket.write(OK);
  state.accepted += 1;
  if (wanted !== undefined && wanted.state === state && state.accepted >= wanted.until) {
    process.send({ reached: state.accepted });
    wanted = undefined;
  }
}

function take(state, socket, request) {
  state.count += 1;
  const at = request.indexOf(SENT_AT);
  if (at >= 0) {
    const sentAtMs = Number.parseFloat(request.latin1Slice(at + SENT_AT.length, at + SENT_AT.length + 20));
    state.latencies.push(nowMs() - sentAtMs);
  }
  if (state.mode === "ok" && state.afterMs > 0) setTimeout(accept, state.afterMs, state, socket);
  else if (state.mode === "ok") accept(state, socket);
  else if (state.mode === "fail") socket.write(FAIL);
  else if (state.mode === "drip") {
    socket.write(DRIP);
    const timer = setInterval(() => socket.write("x"), 200);
    socket.on("close", () => clearInterval(timer));
  } else if (state.mode === "dead") socket.destroy();
}

function listen() {
  const state = { mode: "ok", afterMs: 0, count: 0, accepted: 0, latencies: [] };
  const server = createServer((socket) => {
    let buffered = Buffer.alloc(0);
    socket.on("error", () => {});
    if (state.mode === "dead") {
      socket.destroy();
      return;
    }
    socket.on("data", (chunk) => {
      buffered = buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk]);
      for (;;) {
        const end = buffered.indexOf("\r\n\r\n");
        if (end < 0) return;
        const at = buffered.indexOf(LENGTH);
        const length = Number.parseInt(buffered.latin1Slice(at + LENGTH.length, at + LENGTH.length + 8), 10);
        const total = end + 4 + length;
        if (buffered.length < total) return;
        take(state, socket, buffered.subarray(0, total));
        buffered = buffered.subarray(total);
      }
    });
  });
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", 1_024, () => {
      ports.set(server.address().port, state);
      resolve(server.address().port);
    });
  });
}

process.on("message", async (message) => {
  if (message.listen !== undefined) {
    process.send({ ports: await Promise.all(Array.from({ length: message.listen }, listen)) });
  } else if (message.mode !== undefined)
    Object.assign(ports.get(message.port), { mode: message.mode, afterMs: message.afterMs ?? 0 });
  else if (message.report) {
    const report = {};
    for (const [port, state] of ports) {
      report[port] = { count: state.count, accepted: state.accepted, latencies: state.latencies };
      state.count = 0;
      state.latencies = [];
    }
    process.send({ report });
  } else if (message.until !== undefined) {
    const state = ports.get(message.port);
    if (state.accepted >= message.until) process.send({ reached: state.accepted });
    else wanted = { until: message.until, state };
  }
});
