/**
 * CPU of both threads for a call and its answer: `postMessage` with a moved buffer, as the store uses it, by turns with a ring in shared
 * memory (`Atomics.waitAsync`), one call after the other:
 *
 *   node bench/collector/thread-calls.bench.mjs [bytes of a call, default 700] [calls, default 20000]
 */
import { once } from "node:events";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

const SLOTS = 64;
const SLOT_BYTES = 64 * 1024;
const ASKED = 0;
const ANSWERED = 1;

/** Calls `onNew` with each value of a counter after `seen`. */
async function follow(counters, place, onNew, seen = 0) {
  for (;;) {
    for (const now = Atomics.load(counters, place); seen < now; ) onNew(++seen);
    await Atomics.waitAsync(counters, place, seen).value;
  }
}

function advance(counters, place, value) {
  Atomics.store(counters, place, value);
  Atomics.notify(counters, place);
}

const slotOf = (memory, call) => Buffer.from(memory, 64 + (call % SLOTS) * SLOT_BYTES, SLOT_BYTES);
const headOf = (id, request) => ({ kind: "calls", calls: [{ id, operation: "append", request }] });

function serve({ memory }) {
  if (memory === undefined) {
    parentPort.on("message", ({ calls }) =>
      parentPort.postMessage({ kind: "answers", answers: calls.map(({ id }) => ({ id })) }),
    );
    return;
  }
  setInterval(() => {}, 60_000);
  const counters = new Int32Array(memory, 0, 2);
  follow(counters, ASKED, (call) => {
    const slot = slotOf(memory, call);
    JSON.parse(slot.latin1Slice(4, 4 + slot.readUInt32LE(0)));
    advance(counters, ANSWERED, call);
  });
}

/** Resolves with microseconds of CPU a call. */
async function measure(isRing, bytes, calls) {
  const memory = isRing ? new SharedArrayBuffer(64 + SLOTS * SLOT_BYTES) : undefined;
  const worker = new Worker(new URL(import.meta.url), { workerData: { memory } });
  await once(worker, "online");
  const counters = memory && new Int32Array(memory, 0, 2);
  let answered = () => {};
  if (isRing) void follow(counters, ANSWERED, () => answered());
  else worker.on("message", () => answered());
  const body = Buffer.alloc(bytes, "a");
  const ask = (call) => {
    if (isRing) {
      const slot = slotOf(memory, call);
      const length = slot.latin1Write(JSON.stringify(headOf(call, { bytes })), 4);
      slot.writeUInt32LE(length, 0);
      slot.set(body, 4 + length);
      advance(counters, ASKED, call);
    } else {
      const { buffer } = Buffer.allocUnsafeSlow(bytes);
      new Uint8Array(buffer).set(body);
      worker.postMessage(headOf(call, { bodies: new Uint8Array(buffer) }), [buffer]);
    }
  };
  let before;
  for (let call = 1; call <= calls * 1.5; call++) {
    if (call === calls / 2) before = process.cpuUsage();
    const answer = new Promise((resolve) => {
      answered = resolve;
    });
    ask(call);
    await answer;
    await new Promise(setImmediate);
  }
  const { user, system } = process.cpuUsage(before);
  await worker.terminate();
  return (user + system) / calls;
}

if (isMainThread) {
  const [bytes = 700, calls = 20_000] = process.argv.slice(2).map(Number);
  const rounds = [];
  for (let round = 0; round < 3; round++)
    rounds.push({
      "postMessage, µs": (await measure(false, bytes, calls)).toFixed(1),
      "ring, µs": (await measure(true, bytes, calls)).toFixed(1),
    });
  console.table(rounds);
  process.exit();
} else serve(workerData);
