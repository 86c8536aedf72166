import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import { afterEach, expect, it, vi } from "vitest";
import { type CollectorWorld, openCollector } from "../audiences/collector-world.js";
import { endThread } from "./end-thread.js";

const until = (holds: () => Promise<void> | void): Promise<void> => vi.waitFor(holds, { timeout: 20_000 });

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function withThreads(): Promise<CollectorWorld> {
  const world = await openCollector({ workers: 3 });
  ends.push(() => world.close());
  return world;
}

interface Answered {
  readonly status: number;
  readonly text: string;
}

/** Sends over a connection of its own, so that the system deals the requests out. */
function send(world: CollectorWorld, method: string, path: string, body?: string, key = world.writeKey) {
  return new Promise<Answered>((resolve, reject) => {
    const headers = { authorization: `Basic ${btoa(`${key}:`)}`, connection: "close" };
    const sent = request(
      `${world.collector.url}${path}`,
      { method, headers, agent: false },
      async (response) => {
        let text = "";
        for await (const chunk of response) text += chunk;
        resolve({ status: response.statusCode ?? 0, text });
      },
    );
    sent.on("error", reject);
    sent.end(body);
  });
}

const track = (messageId: string): string =>
  JSON.stringify({ type: "track", messageId, userId: "u1", event: "E" });

const MANY = Array.from({ length: 24 }, (_, i) => i);

it("takes messages in the threads, and counts and finds them as in one", async () => {
  const world = await withThreads();
  const answers = await Promise.all(MANY.map((i) => send(world, "POST", "/v1/track", track(`m${i}`))));
  expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
  const again = await Promise.all(MANY.map((i) => send(world, "POST", "/v1/track", track(`m${i}`))));
  expect(again.map(({ text }) => JSON.parse(text).duplicates)).toEqual(MANY.map(() => 1));
  const metrics = await world.metrics();
  expect(metrics).toContain('sluice_ingest_messages_total{result="accepted"} 24');
  expect(metrics).toContain('sluice_ingest_messages_total{result="duplicate"} 24');
  expect(metrics).toContain('sluice_http_requests_total{route="/v1/track",status="200"} 48');
  expect(metrics).toContain("sluice_ingest_append_seconds_count 48");
  expect(world.collector.store.log.head()).toBe(23);
});

it("answers everything else on the same address", async () => {
  const world = await withThreads();
  expect((await world.api("GET", "/sources")).body.items).toHaveLength(1);
  const missing = await Promise.all(MANY.map(() => send(world, "GET", "/nowhere")));
  expect(new Set(missing.map(({ status }) => status))).toEqual(new Set([404]));
  expect((await world.api("POST", "/sources", { name: 1 })).status).toBe(400);
  expect((await world.api("POST", "/sources", { name: "x".repeat(2_000_000) })).status).toBe(413);
  expect(JSON.parse((await send(world, "GET", "/readyz")).text)).toEqual({ status: "ready" });
  expect((await send(world, "PUT", "/v1/track")).status).toBe(405);
});

it("shows wrong keys and refused messages of all threads", async () => {
  const world = await withThreads();
  const wrong = await Promise.all(MANY.map(() => send(world, "POST", "/v1/track", track("a"), "wk_unknown")));
  expect(new Set(wrong.map(({ status }) => status))).toEqual(new Set([401]));
  await Promise.all(MANY.map(() => send(world, "POST", "/v1/batch", '{"batch":[{"type":"track"}]}')));
  const metrics = await world.metrics();
  expect(metrics).toContain('sluice_ingest_refused_requests_total{code="invalid_write_key"} 24');
  expect(metrics).toContain('sluice_ingest_messages_total{result="rejected"} 24');
});

it("has one rate limit for all threads", async () => {
  const world = await withThreads();
  const limited = await world.api("PATCH", `/sources/${world.sourceId}`, { rateLimit: 5 });
  expect(limited.status).toBe(200);
  const answers = await Promise.all(MANY.map((i) => send(world, "POST", "/v1/track", track(`m${i}`))));
  const accepted = answers.filter(({ status }) => status === 200).length;
  // The machine may take a second for it.
  expect(accepted).toBeGreaterThanOrEqual(5);
  expect(accepted).toBeLessThanOrEqual(15);
});

it("refuses a key in every thread once its source is deleted", async () => {
  const world = await withThreads();
  expect((await send(world, "POST", "/v1/track", track("before"))).status).toBe(200);
  expect((await world.api("DELETE", `/sources/${world.sourceId}`)).status).toBe(204);
  const answers = await Promise.all(MANY.map((i) => send(world, "POST", "/v1/track", track(`m${i}`))));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
  expect(world.collector.store.log.head()).toBe(0);
});

it("starts a thread that died again, and loses nothing that was acknowledged", async () => {
  const world = await withThreads();
  const acknowledged: string[] = [];
  let isOver = false;
  const sending = [1, 2, 3, 4].map(async (sender) => {
    for (let i = 0; !isOver; i++) {
      const id = `s${sender}-${i}`;
      const status = await send(world, "POST", "/v1/track", track(id)).then(
        (answer) => answer.status,
        () => 0,
      );
      if (status === 200) acknowledged.push(id);
      else expect(status).toBe(0);
    }
  });
  await until(() => expect(acknowledged.length).toBeGreaterThan(20));
  await endThread();
  const then = acknowledged.length;
  await until(() => expect(acknowledged.length).toBeGreaterThan(then + 20));
  await endThread();
  await endThread();
  const later = acknowledged.length;
  await until(() => expect(acknowledged.length).toBeGreaterThan(later + 20));
  isOver = true;
  await Promise.all(sending);
  await world.restart();
  const duplicates = await Promise.all(
    acknowledged.map(
      async (id) => JSON.parse((await send(world, "POST", "/v1/track", track(id))).text).duplicates,
    ),
  );
  expect(duplicates).toEqual(acknowledged.map(() => 1));
});

it("answers requests that are under way when it closes", async () => {
  const world = await withThreads();
  const { port } = new URL(world.collector.url);
  const body = track("slow");
  const sockets = await Promise.all(
    MANY.map(async () => {
      const socket = connect(Number(port), "127.0.0.1");
      await once(socket, "connect");
      socket.write(
        `POST /v1/track HTTP/1.1\r\nHost: a\r\nAuthorization: Basic ${btoa(`${world.writeKey}:`)}\r\nContent-Length: ${body.length}\r\n\r\n`,
      );
      return socket;
    }),
  );
  await until(async () => expect(await world.metrics()).toContain("sluice_http_requests_active 25"));
  const closed = world.collector.close(10_000);
  const answers = await Promise.all(
    sockets.map(async (socket) => {
      socket.write(body);
      const [answer] = await once(socket, "data");
      return String(answer).slice(0, 12);
    }),
  );
  expect(new Set(answers)).toEqual(new Set(["HTTP/1.1 200"]));
  await closed;
  await world.restart();
});

it("streams live events through a thread, until the client leaves", async () => {
  const world = await withThreads();
  const leaving = new AbortController();
  const response = await fetch(`${world.collector.url}/api/v1/live`, {
    headers: { authorization: `Bearer ${world.collector.firstRun?.adminToken}` },
    signal: leaving.signal,
  });
  expect(response.headers.get("content-type")).toContain("text/event-stream");
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  await world.send([{ type: "track", messageId: "live-one", userId: "u1", event: "E" }]);
  let text = "";
  while (!text.includes("live-one")) text += (await reader?.read())?.value ?? "";
  await until(async () => expect(await world.metrics()).toContain("sluice_http_requests_active 2"));
  leaving.abort();
  await until(async () => expect(await world.metrics()).toContain("sluice_http_requests_active 1"));
});
