/**
 * Sends events at a rate, or as fast as they are answered, over raw sockets. Requests are built once and only their message ids are
 * rewritten, so the load costs little compared to what it measures.
 *
 * Arguments: one JSON object {port, writeKey, events, connections, seconds, warmSeconds?, requestsPerSecond?,
 * requests?, isStamped?}. Prints one JSON object. It ends after `seconds`, or earlier after `requests`. Requests in the first `warmSeconds` are sent but not measured, because a new process sends late at first.
 * Stamped messages contain the time of sending, for the receiver.
 */
import { randomFillSync } from "node:crypto";
import { connect } from "node:net";

const {
  port,
  writeKey,
  events,
  connections,
  seconds,
  warmSeconds = 0,
  requestsPerSecond,
  requests = Number.POSITIVE_INFINITY,
  isStamped,
} = JSON.parse(process.argv[2]);
const ID = "00000000000000000000000000000000";
const STAMP = 1_000_000_000_000.125;

const event = (n) => ({
  type: "track",
  event: ["Order Completed", "Product Viewed", "Signed Up", "Page Scrolled"][n % 4],
  messageId: ID,
  userId: `user-${(n * 7919) % 100_000}`,
  anonymousId: `f2b1b0e0-7d1c-4a52-9a3e-${String(n).padStart(12, "0")}`,
  timestamp: "2026-11-21T09:30:08.276Z",
  context: {
    library: { name: "bench", version: "1.0.0" },
    ip: "203.0.113.7",
    locale: "de-DE",
    userAgent: "Mozilla/5.0 (X11; Linux x86_64)",
  },
  properties: {
    ...(isStamped ? { sentAtMs: STAMP } : {}),
    orderId: `o-${n}`,
    total: 129.95,
    currency: "EUR",
    coupon: null,
    products: [
      { sku: "A-1", price: 10.5, quantity: 2 },
      { sku: "B-2", price: 99.9, quantity: 1 },
    ],
  },
});

/** One request per connection, and the positions of its ids. */
function buildRequest(connection) {
  const body =
    events === 1
      ? JSON.stringify(event(connection))
      : JSON.stringify({
          batch: Array.from({ length: events }, (_, i) => event(connection * events + i)),
          sentAt: "2026-11-21T09:30:08.300Z",
        });
  const path = events === 1 ? "/v1/track" : "/v1/batch";
  const head = `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Basic ${btoa(`${writeKey}:`)}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
  const bytes = Buffer.from(head + body);
  const places = [];
  for (let at = bytes.indexOf(ID); at !== -1; at = bytes.indexOf(ID, at + ID.length)) places.push(at);
  const stamps = [];
  const stamp = String(STAMP);
  for (let at = bytes.indexOf(stamp); at !== -1; at = bytes.indexOf(stamp, at + stamp.length))
    stamps.push(at);
  return { bytes, places, stamps, random: Buffer.alloc(16 * places.length) };
}

const latencies = [];
let failed = 0;
let sent = 0;
const cpuBefore = process.cpuUsage();
const startedMs = performance.now();
const measuredMs = startedMs + warmSeconds * 1_000;
const endMs = measuredMs + seconds * 1_000;

function run(connection) {
  return new Promise((resolve) => {
    const { bytes, places, stamps, random } = buildRequest(connection);
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    const intervalMs = requestsPerSecond === undefined ? 0 : (connections * 1_000) / requestsPerSecond;
    // At a rate, latency counts from when the request was due, not from when it could be sent.
    let dueMs = startedMs + (intervalMs * connection) / connections;
    const send = () => {
      randomFillSync(random);
      for (const [i, at] of places.entries())
        bytes.write(random.toString("hex", 16 * i, 16 * i + 16), at, "latin1");
      const now = (performance.timeOrigin + performance.now()).toFixed(3);
      for (const at of stamps) bytes.write(now, at, "latin1");
      if (intervalMs === 0) dueMs = performance.now();
      sent++;
      socket.write(bytes);
    };
    const next = () => {
      if (performance.now() >= endMs || sent >= requests) {
        socket.end();
        resolve();
        return;
      }
      if (intervalMs === 0) return send();
      dueMs += intervalMs;
      const waitMs = dueMs - performance.now();
      if (waitMs > 0.5) setTimeout(send, waitMs);
      else send();
    };
    socket.on("connect", () =>
      intervalMs === 0 ? send() : setTimeout(send, Math.max(0, dueMs - performance.now())),
    );
    let text = "";
    socket.setEncoding("latin1");
    socket.on("data", (chunk) => {
      text += chunk;
      const bodyAt = text.indexOf("\r\n\r\n");
      if (bodyAt === -1) return;
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (text.length < bodyAt + 4 + length) return;
      if (!text.startsWith("HTTP/1.1 200")) failed++;
      if (dueMs >= measuredMs) latencies.push(performance.now() - dueMs);
      text = "";
      next();
    });
    socket.on("error", () => {
      failed++;
      resolve();
    });
  });
}

await Promise.all(Array.from({ length: connections }, (_, connection) => run(connection)));
const elapsedSeconds = (performance.now() - measuredMs) / 1_000;
const cpu = process.cpuUsage(cpuBefore);
const cpuMicrosPerEvent = (cpu.user + cpu.system) / (sent * events);
latencies.sort((a, b) => a - b);
const at = (share) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
process.stdout.write(
  `${JSON.stringify({ requests: latencies.length, sent, failed, requestsPerSecond: latencies.length / elapsedSeconds, eventsPerSecond: (latencies.length * events) / elapsedSeconds, p50Ms: at(0.5), p99Ms: at(0.99), cpuMicrosPerEvent })}\n`,
);
