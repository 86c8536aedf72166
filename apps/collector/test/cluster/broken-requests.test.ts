import { connect, type Socket } from "node:net";
import { manualClock } from "@sluice/resilience/testing";
import { afterEach, describe, expect, test } from "vitest";
import { type Front, type FrontOptions, openFront } from "../../src/cluster/front/front.js";
import { HTTP_LIMITS } from "../../src/http/limits.js";
import type { Route } from "../../src/http/routing.js";
import { createLogger } from "../../src/process/telemetry/logger.js";
import { createMetrics } from "../../src/process/telemetry/metrics.js";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const length: Route = {
  path: "/v1/length",
  cors: true,
  methods: {
    POST: async (request) => ({ status: 200, body: String((await request.readBody(1_000_000)).length) }),
  },
};

/** Requests that do not arrive in time are ended soon. */
const LIMITS = { ...HTTP_LIMITS, headersTimeoutMs: 100, requestTimeoutMs: 100, timeoutCheckMs: 10 };
/** For the requests that one process passes on, so that only the first process ends them. */
const PATIENT = { ...HTTP_LIMITS, drainTimeoutMs: 50 };

async function startFront(options: Partial<FrontOptions> = {}): Promise<Front> {
  const front = await openFront({
    ...{ clock: manualClock(), logger: createLogger({ write: () => {} }), metrics: createMetrics() },
    ...{ limits: PATIENT, public: { host: "127.0.0.1", port: 0 }, admin: undefined },
    ...{
      token: "token",
      ownRoutes: () => [],
      owner: () => ({ kind: "none" }),
      onPassed: () => {},
    },
    ...options,
  });
  front.advertise(front.url);
  closing.push(() => front.close(0));
  return front;
}

async function serve(front: Front, routes: readonly Route[]): Promise<void> {
  const common = {
    clock: manualClock(),
    logger: createLogger({ write: () => {} }),
    metrics: createMetrics(),
  };
  await front.startServer({ ...common, host: "", port: 0, routes });
}

/** A process that answers itself (`owner`), and one that passes requests on to it. */
async function pair(options: Partial<FrontOptions> = {}): Promise<{ owner: Front; follower: Front }> {
  const owner = await startFront({ limits: LIMITS });
  await serve(owner, [length]);
  const follower = await startFront({
    limits: LIMITS,
    owner: () => ({ kind: "other", address: owner.url, term: 1 }),
    ...options,
  });
  return { owner, follower };
}

function dial(front: Front, text: string): Socket {
  const socket = connect(front.port, "127.0.0.1");
  closing.push(() => socket.destroy());
  socket.on("error", () => {});
  socket.write(text);
  return socket;
}

/** All that comes until the connection ends, without what differs from one time to the next. */
async function answerTo(front: Front, text: string): Promise<string> {
  let answer = "";
  for await (const chunk of dial(front, text)) answer += chunk;
  return answer
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "ID")
    .replaceAll(/^Date: .*\r\n/gim, "")
    .replaceAll(/^(?:Keep-Alive|Connection): .*\r\n/gim, "");
}

const HEAD = "POST /v1/length HTTP/1.1\r\nHost: a\r\n";
const BROKEN: readonly [name: string, request: string, status: number][] = [
  ["a small body that does not arrive", `${HEAD}Content-Length: 100\r\n\r\nabc`, 408],
  ["a large body that does not arrive", `${HEAD}Content-Length: 900000\r\n\r\nabc`, 408],
  ["a chunk that does not arrive", `${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\nab`, 408],
  ["a broken chunk", `${HEAD}Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\nzz\r\n`, 400],
  ["no Host header", "POST /v1/length HTTP/1.1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", 400],
  ["two Host headers", `${HEAD}Host: b\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, 400],
  ["what is not HTTP behind a request", `${HEAD}Content-Length: 3\r\n\r\nabc\x01\r\n\r\n`, 200],
];

describe("a request that is broken", () => {
  test.each(BROKEN)("gets the same answer wherever it arrives: %s", async (_name, request, status) => {
    const { owner, follower } = await pair();
    const answer = await answerTo(owner, request);
    expect(answer).toContain(`HTTP/1.1 ${status} `);
    expect(await answerTo(follower, request)).toBe(answer);
  });
});

test("requests that wait for others on their connection end when the client leaves", async () => {
  const ended: string[] = [];
  const { owner, follower } = await pair({ onPassed: (how) => ended.push(how) });
  let asked = (): void => {};
  const isAsked = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const never: Route = {
    path: "/v1/never",
    methods: {
      GET: () => {
        asked();
        return new Promise(() => {});
      },
    },
  };
  await serve(owner, [never, length]);
  const socket = dial(
    follower,
    `GET /v1/never HTTP/1.1\r\nHost: a\r\n\r\n${HEAD}Content-Length: 3\r\n\r\nabc`,
  );
  await isAsked;
  // A request on another connection: the owner has answered the one before it by then.
  const other = await fetch(`${follower.url}/v1/length`, { method: "POST", body: "abc" });
  expect(await other.text()).toBe("3");
  socket.destroy();
  while (!ended.includes("cut")) await new Promise((resolve) => setImmediate(resolve));
  expect(ended).toEqual(["answered", "cut"]);
});
