/**
 * Sends track messages of random users as fast as they are answered, over raw sockets. Requests are built once and only ids and users
 * are rewritten. Arguments: one JSON object {port, writeKey, users, seconds}. Prints one JSON object.
 */
import { randomFillSync } from "node:crypto";
import { connect } from "node:net";

const { port, writeKey, users, seconds } = JSON.parse(process.argv[2]);
const CONNECTIONS = 16;
const MESSAGES = 100;
const ID = "00000000000000000000000000000000";
const USER = "user-0000000";

const message = (n) => ({
  type: "track",
  event: `Event ${n % 40}`,
  messageId: ID,
  userId: USER,
  context: {
    library: { name: "bench", version: "1.0.0" },
    ip: "203.0.113.7",
    locale: "de-DE",
    userAgent: "Mozilla/5.0 (X11; Linux x86_64)",
  },
  properties: {
    price: n % 100,
    orderId: `o-${n}`,
    currency: "EUR",
    coupon: null,
    products: [
      { sku: "A-1", price: 10.5, quantity: 2 },
      { sku: "B-2", price: 99.9, quantity: 1 },
    ],
  },
});

function placesOf(bytes, text) {
  const places = [];
  for (let at = bytes.indexOf(text); at !== -1; at = bytes.indexOf(text, at + text.length)) places.push(at);
  return places;
}

const endMs = performance.now() + seconds * 1_000;
const latencies = [];

function run(connection) {
  const batch = Array.from({ length: MESSAGES }, (_, index) => message(connection * MESSAGES + index));
  const body = JSON.stringify({ batch });
  const head = `POST /v1/batch HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Basic ${btoa(`${writeKey}:`)}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
  const bytes = Buffer.from(head + body);
  const ids = placesOf(bytes, ID);
  const names = placesOf(bytes, USER);
  const random = Buffer.alloc(16 * MESSAGES);
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    let sentMs = 0;
    const send = () => {
      randomFillSync(random);
      for (const [index, at] of ids.entries())
        bytes.write(random.toString("hex", 16 * index, 16 * index + 16), at, "latin1");
      for (const [index, at] of names.entries())
        bytes.write(
          String(random.readUInt32LE(16 * index) % users).padStart(7, "0"),
          at + USER.length - 7,
          "latin1",
        );
      sentMs = performance.now();
      socket.write(bytes);
    };
    let text = "";
    socket.setEncoding("latin1");
    socket.on("connect", send);
    socket.on("error", reject);
    socket.on("data", (chunk) => {
      text += chunk;
      const bodyAt = text.indexOf("\r\n\r\n");
      if (bodyAt === -1) return;
      if (text.length < bodyAt + 4 + Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)) return;
      if (!text.startsWith("HTTP/1.1 200")) return reject(new Error(text));
      latencies.push(performance.now() - sentMs);
      text = "";
      if (performance.now() < endMs) return send();
      socket.end();
      resolve();
    });
  });
}

const startedMs = performance.now();
await Promise.all(Array.from({ length: CONNECTIONS }, (_, connection) => run(connection)));
const tookSeconds = (performance.now() - startedMs) / 1_000;
latencies.sort((a, b) => a - b);
process.stdout.write(
  `${JSON.stringify({
    messages: latencies.length * MESSAGES,
    messagesPerSecond: (latencies.length * MESSAGES) / tookSeconds,
    p99Ms: latencies[Math.floor(latencies.length * 0.99)],
  })}\n`,
);
