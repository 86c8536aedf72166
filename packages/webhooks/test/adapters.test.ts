import { createServer, request as httpRequest, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import Fastify from "fastify";
import { Hono } from "hono";
import { afterEach, describe, expect, it } from "vitest";
import {
  expressHandler,
  fastifyHandler,
  honoHandler,
  memoryDedupe,
  nodeHandler,
  type ReceiverOptions,
  type Rejection,
  sign,
  signStandard,
  type WebhookPayload,
  webHandler,
} from "../src/index.js";
import { rejectionWarnings } from "../src/receiver/receiver-options.js";

const SECRET = "secret";
const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
}

/** Serves a Web handler with `node:http`, so that all adapters are tested the same way. */
function web(handle: (request: Request) => Promise<Response> | Response): RequestListener {
  return async (request, response) => {
    const hasBody = request.method !== "GET";
    const answer = await handle(
      new Request(`http://127.0.0.1${request.url}`, {
        method: request.method ?? "GET",
        headers: request.headers as Record<string, string>,
        ...(hasBody ? { body: request as unknown as ReadableStream, duplex: "half" } : {}),
      } as RequestInit),
    );
    response.writeHead(answer.status).end(await answer.text());
  };
}

const ADAPTERS: Record<string, (options: ReceiverOptions) => Promise<string>> = {
  "node:http": (options) => listen(nodeHandler(options)),
  Express: (options) => listen(express().use("/hook", expressHandler(options))),
  "Express behind express.json()": (options) =>
    listen(
      express()
        .use(express.json({ limit: "2mb" }))
        .use("/hook", expressHandler(options)),
    ),
  "Fastify, as a plugin": async (options) => {
    const app = Fastify();
    app.register(fastifyHandler(options), { prefix: "/hook" });
    closers.push(() => app.close());
    return `${await app.listen({ port: 0, host: "127.0.0.1" })}/hook`;
  },
  "Fastify, as a handler": async (options) => {
    const app = Fastify({ bodyLimit: 2_000_000 });
    app.post("/hook", fastifyHandler(options));
    closers.push(() => app.close());
    return `${await app.listen({ port: 0, host: "127.0.0.1" })}/hook`;
  },
  Hono: (options) => {
    const app = new Hono().post("/hook", honoHandler(options));
    return listen(web((request) => app.fetch(request)));
  },
  "Web Request": (options) => listen(web(webHandler(options))),
};

function post(url: string, body: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", "x-message-id": "m1", "x-attempt": "2", ...headers },
    body,
  });
}

const BODY = JSON.stringify({
  version: 1,
  type: "track",
  messageId: "m1",
  userId: "u1",
  event: "Größe",
  properties: { a: 1.5 },
});
const QUIET = { onMessage: () => {}, onRejected: () => {} };
const SIGNED = { "x-signature": sign(BODY, SECRET) };

describe.each(Object.entries(ADAPTERS))("%s", (name, open) => {
  it("passes on a verified message with its id and attempt", async () => {
    const got: unknown[] = [];
    const url = await open({
      secret: SECRET,
      onMessage: (message, delivery) => void got.push([message, delivery]),
    });
    expect((await post(url, BODY, SIGNED)).status).toBe(200);
    expect(got).toEqual([[JSON.parse(BODY), { messageId: "m1", attempt: 2, rawBody: BODY }]]);
  });

  it("passes on each message of a batch, signed once", async () => {
    const got: unknown[] = [];
    const url = await open({
      secret: SECRET,
      onMessage: ({ type }, { messageId, attempt }) => void got.push([type, messageId, attempt]),
    });
    const batch = `{"messages":[${BODY},${JSON.stringify({ ...JSON.parse(BODY), messageId: "m2" })}]}`;
    expect((await post(url, batch, { "x-signature": sign(batch, SECRET) })).status).toBe(200);
    expect(got).toEqual([
      ["track", "m1", 2],
      ["track", "m2", 2],
    ]);
  });

  it("refuses requests that are not signed with the secret, and says what is wrong", async () => {
    const got: WebhookPayload[] = [];
    const rejected: Rejection[] = [];
    const url = await open({
      secret: [SECRET],
      onMessage: (message) => void got.push(message),
      onRejected: (rejection) => rejected.push(rejection),
    });
    const unsigned = await post(url, BODY);
    expect([unsigned.status, await unsigned.text()]).toEqual([
      401,
      "X-Signature is missing: does the destination have a shared secret?",
    ]);
    expect((await post(url, BODY, { "x-signature": sign(BODY, "other") })).status).toBe(401);
    expect((await post(url, JSON.stringify({ type: "track" }), SIGNED)).status).toBe(401);
    expect(got).toEqual([]);
    expect(rejected).toEqual([
      {
        status: 401,
        reason: "X-Signature is missing: does the destination have a shared secret?",
        messageId: "m1",
      },
      ...Array(2).fill({
        status: 401,
        reason: "X-Signature does not match: do both sides have the same secret?",
        messageId: "m1",
      }),
    ]);
  });

  it("answers 500 without details when onMessage throws, and calls onError", async () => {
    const errors: unknown[] = [];
    const url = await open({
      secret: SECRET,
      onMessage: () => {
        throw new Error("the database password is hunter2");
      },
      onError: (error) => errors.push(error),
    });
    const answer = await post(url, BODY, SIGNED);
    expect(answer.status).toBe(500);
    expect(await answer.text()).not.toContain("hunter2");
    expect(errors).toMatchObject([{ message: "the database password is hunter2" }]);
  });

  it("handles a message that arrives twice once, and a failed one again", async () => {
    let calls = 0;
    const url = await open({
      secret: SECRET,
      dedupe: memoryDedupe(),
      onMessage: () => {
        calls += 1;
        if (calls === 1) throw new Error("not yet");
      },
      onError: () => {},
    });
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await post(url, BODY, SIGNED)).status);
    expect([statuses, calls]).toEqual([[500, 200, 200], 2]);
  });

  it("identifies a message by its signed id, not by X-Message-Id", async () => {
    const got: unknown[] = [];
    const url = await open({
      secret: SECRET,
      dedupe: memoryDedupe(),
      onMessage: (message, { messageId }) => void got.push([messageId, message.type]),
    });
    // One recorded request under four ids. One of them is the id of a later message.
    for (const id of ["m1", "m2", "m3", ""]) {
      expect((await post(url, BODY, { ...SIGNED, "x-message-id": id })).status).toBe(200);
    }
    const next = BODY.replace('"m1"', '"m2"');
    const signed = { "x-signature": sign(next, SECRET), "x-message-id": "m2" };
    expect((await post(url, next, signed)).status).toBe(200);
    expect(got).toEqual([
      ["m1", "track"],
      ["m2", "track"],
    ]);
  });

  it("verifies Standard Webhooks headers within five minutes, and identifies the message by webhook-id", async () => {
    const got: string[] = [];
    let nowMs = 1_800_000_000_000;
    const url = await open({
      ...QUIET,
      secret: SECRET,
      dedupe: memoryDedupe(),
      standardWebhooks: "accept",
      now: () => nowMs,
      onMessage: (_message, { messageId }) => void got.push(messageId),
    });
    const classic = JSON.stringify({ version: 1, type: "track", event: "E", properties: {} });
    const bothOf = (id: string) => ({
      ...signStandard(classic, SECRET, { id, timestampMs: nowMs }),
      "x-signature": sign(classic, SECRET),
    });
    const recorded = bothOf("m1");
    const status = async (headers: Record<string, string>) => (await post(url, classic, headers)).status;
    expect(await status({ ...recorded, "webhook-id": "m2" })).toBe(401);
    expect(await status({ ...recorded, "webhook-timestamp": "1800000001" })).toBe(401);
    expect(await status({ ...recorded, "webhook-signature": "v1,AAAA" })).toBe(401);
    expect(await status({ ...recorded, "webhook-signature": "" })).toBe(401);
    expect(got).toEqual([]);
    expect([await status(recorded), await status({ ...recorded, "x-message-id": "m9" })]).toEqual([200, 200]);
    // Another message with the same body.
    expect(await status(bothOf("m2"))).toBe(200);
    expect(got).toEqual(["m1", "m2"]);
    // Without its Standard Webhooks headers it has the id of its body.
    expect(await status({ "x-signature": sign(classic, SECRET) })).toBe(200);
    expect(got).toEqual(["m1", "m2"]);
    nowMs += 300_000;
    expect(await status(recorded)).toBe(200);
    nowMs += 1;
    expect(await status(recorded)).toBe(401);
    nowMs -= 600_002;
    expect(await status(recorded)).toBe(401);
  });

  it("refuses a request without Standard Webhooks headers if they are required", async () => {
    const url = await open({ ...QUIET, secret: SECRET, standardWebhooks: "require" });
    const answer = await post(url, BODY, SIGNED);
    expect([answer.status, await answer.text()]).toEqual([
      401,
      "webhook-signature is missing: is standardWebhooks on for the destination?",
    ]);
    const standard = signStandard(BODY, SECRET, { id: "m1", timestampMs: Date.now() });
    expect((await post(url, BODY, { ...standard })).status).toBe(200);
  });

  it("refuses a recorded request without these headers once the sender is known to send them", async () => {
    let nowMs = Date.now();
    const url = await open({ ...QUIET, secret: SECRET, now: () => nowMs });
    const status = async (headers: Record<string, string>) => (await post(url, BODY, headers)).status;
    // Until then, also an older sender or one without the headers is accepted.
    expect(await status(SIGNED)).toBe(200);
    const forged = { ...signStandard(BODY, "wrong", { id: "m1", timestampMs: nowMs }) };
    expect([await status(forged), await status(SIGNED)]).toEqual([401, 200]);
    expect(await status({ ...signStandard(BODY, SECRET, { id: "m1", timestampMs: nowMs }) })).toBe(200);
    nowMs += 3_600_000;
    expect(await status(SIGNED)).toBe(401);
  });

  it("answers 413 for a body over the limit", async () => {
    const big = JSON.stringify({ type: "track", event: "x".repeat(5_000) });
    const url = await open({ ...QUIET, secret: SECRET, maxBodyBytes: 4_096 });
    expect((await post(url, big, { "x-signature": sign(big, SECRET) })).status).toBe(413);
  });

  // After a parser only the parsed numbers are left, and large integers have lost digits.
  it.skipIf(name.includes("behind") || name.includes("as a handler"))(
    "verifies a body with an integer beyond 2^53",
    async () => {
      const body = '{"type":"track","event":"E","properties":{"id":12345678901234567890}}';
      const url = await open({ secret: SECRET, onMessage: () => {} });
      expect((await post(url, body, { "x-signature": sign(body, SECRET) })).status).toBe(200);
    },
  );
});

describe("a batch", () => {
  const bodyOf = (...ids: readonly string[]) =>
    JSON.stringify({ messages: ids.map((messageId) => ({ type: "track", event: "E", messageId })) });
  const postSigned = (url: string, body: string) => post(url, body, { "x-signature": sign(body, SECRET) });

  it("is handled from where it failed when it comes again", async () => {
    const got: string[] = [];
    let isBroken = true;
    const url = await listen(
      nodeHandler({
        secret: SECRET,
        dedupe: memoryDedupe(),
        onError: () => {},
        onMessage(_message, { messageId }) {
          if (messageId === "m2" && isBroken) throw new Error("no room");
          got.push(messageId);
        },
      }),
    );
    expect((await postSigned(url, bodyOf("m1", "m2", "m3"))).status).toBe(500);
    isBroken = false;
    expect((await postSigned(url, bodyOf("m1", "m2", "m3"))).status).toBe(200);
    // After a crash of the collector, messages may come in another batch.
    expect((await postSigned(url, bodyOf("m3", "m4"))).status).toBe(200);
    expect(await (await postSigned(url, bodyOf("m4"))).text()).toBe("already handled");
    expect(got).toEqual(["m1", "m2", "m3", "m4"]);
  });

  it("is handled at once by onMessages, without what is known, and by one request at a time", async () => {
    const got: (readonly string[])[] = [];
    const url = await listen(
      nodeHandler({
        secret: SECRET,
        dedupe: memoryDedupe(),
        async onMessages(messages, deliveries) {
          await new Promise((resolve) => setImmediate(resolve));
          expect(messages.map((message) => "messageId" in message && message.messageId)).toEqual(
            deliveries.map((one) => one.messageId),
          );
          got.push(deliveries.map(({ messageId }) => messageId));
        },
      }),
    );
    const statuses = await Promise.all(
      [bodyOf("m1", "m2"), bodyOf("m2", "m1", "m3"), BODY].map(
        async (body) => (await postSigned(url, body)).status,
      ),
    );
    expect(statuses).toEqual([200, 200, 200]);
    expect(got.flat().sort()).toEqual(["m1", "m2", "m3"]);
  });

  it.each<[name: string, withDedupe: boolean, standard: boolean, expected: readonly string[]]>([
    ["dedupe", true, false, ["m1", "m2", "m3"]],
    ["dedupe and Standard Webhooks headers", true, true, ["m1", "m2", "m3"]],
    ["no dedupe", false, false, ["m1", "m2", "m1", "m1", "m3", "m2"]],
  ])("that holds an id twice is handed over with %s", async (_name, withDedupe, standard, expected) => {
    for (const together of [true, false]) {
      const got: string[] = [];
      const took = (...ids: readonly string[]): void => void got.push(...ids);
      const url = await listen(
        nodeHandler({
          secret: SECRET,
          ...(withDedupe ? { dedupe: memoryDedupe() } : {}),
          ...(together
            ? { onMessages: (_, deliveries) => took(...deliveries.map(({ messageId }) => messageId)) }
            : { onMessage: (_, { messageId }) => took(messageId) }),
        }),
      );
      const body = bodyOf("m1", "m2", "m1", "m1", "m3", "m2");
      const headers = standard
        ? signStandard(body, SECRET, { id: "batch_1", timestampMs: Date.now() })
        : undefined;
      const answer = await (headers ? post(url, body, { ...headers }) : postSigned(url, body));
      expect([answer.status, got]).toEqual([200, expected]);
    }
  });

  it("has an id for each message, also for those without one", async () => {
    const got: string[] = [];
    const url = await listen(
      nodeHandler({ secret: SECRET, onMessage: (_message, { messageId }) => void got.push(messageId) }),
    );
    const body = JSON.stringify({ messages: ["A", "B"].map((event) => ({ type: "track", event })) });
    await postSigned(url, body);
    await post(url, body, { ...signStandard(body, SECRET, { id: "batch_1", timestampMs: Date.now() }) });
    expect(got.slice(0, 2)).toEqual(
      [0, 1].map((index) => expect.stringMatching(`^sha256:[0-9a-f]{64}\\.${index}$`)),
    );
    expect(got.slice(2)).toEqual(["batch_1.0", "batch_1.1"]);
  });

  it.each(['{"messages":[]}', '{"messages":[{"type":"track"},1]}', '[{"type":"track"}]', '{"messages":{}}'])(
    "is refused as %s",
    async (body) => {
      const url = await listen(nodeHandler({ secret: SECRET, ...QUIET }));
      expect((await postSigned(url, body)).status).toBe(400);
    },
  );
});

describe("a receiver", () => {
  it.each<[string, object]>([
    ["an empty secret", { secret: "" }],
    ["no secrets", { secret: [] }],
    ["an unset secret", { secret: undefined }],
    ["a wrong standardWebhooks", { standardWebhooks: true }],
    ["no handler", { onMessage: undefined }],
    ["two handlers", { onMessages: () => {} }],
  ])("refuses %s when it is made, not when the first message comes", (_name, wrong) => {
    const options = { secret: SECRET, onMessage: () => {}, ...wrong } as ReceiverOptions;
    expect(() => nodeHandler(options)).toThrow(TypeError);
  });

  it("handles a message that arrives twice at the same time once, and again if the first failed", async () => {
    const started: string[] = [];
    const gates: ((fails: boolean) => void)[] = [];
    const receives = (id: string) => post(url, BODY, { ...SIGNED, "x-message-id": id });
    const url = await listen(
      nodeHandler({
        secret: SECRET,
        dedupe: memoryDedupe(),
        onError: () => {},
        onMessage: (_message, { messageId }) => {
          started.push(messageId);
          return new Promise((resolve, reject) =>
            gates.push((fails) => (fails ? reject(new Error("not yet")) : resolve())),
          );
        },
      }),
    );
    const answers = [receives("m1"), receives("m2"), receives("m3")];
    await expect.poll(() => gates.length).toBe(1);
    gates[0]?.(true);
    await expect.poll(() => gates.length).toBe(2);
    gates[1]?.(false);
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    expect([statuses.sort(), started]).toEqual([
      [200, 200, 500],
      ["m1", "m1"],
    ]);
  });

  it("answers 405 to a GET and 400 to a signed body that is not a message", async () => {
    const url = await listen(nodeHandler({ ...QUIET, secret: SECRET }));
    expect((await fetch(url)).status).toBe(405);
    for (const body of ["[]", "null", "{", '{"type":"other"}']) {
      expect((await post(url, body, { "x-signature": sign(body, SECRET) })).status).toBe(400);
    }
  });

  const UNREADABLE = "the body cannot be read: does something else read it before?";
  it.each<[name: string, open: (options: ReceiverOptions) => RequestListener]>([
    [
      "node:http",
      (options) => async (request, response) => {
        await request.toArray();
        await nodeHandler(options)(request, response);
      },
    ],
    [
      "Express",
      (options) => async (request, response) => {
        await request.toArray();
        await expressHandler(options)(request, response);
      },
    ],
    [
      "Web Request",
      (options) =>
        web(async (request) => {
          await request.text();
          return webHandler(options)(request);
        }),
    ],
  ])("says so where something else has read the body: %s", async (_name, open) => {
    const rejected: Rejection[] = [];
    const url = await listen(
      open({ ...QUIET, secret: SECRET, onRejected: (rejection) => rejected.push(rejection) }),
    );
    const answer = await post(url, BODY, SIGNED);
    expect([answer.status, await answer.text()]).toEqual([400, UNREADABLE]);
    expect(rejected).toEqual([{ status: 400, reason: UNREADABLE, messageId: "m1" }]);
  });

  it.each<[name: string, onError: () => unknown]>([
    [
      "throws",
      () => {
        throw new Error("no");
      },
    ],
    ["rejects", () => Promise.reject(new Error("no"))],
  ])("answers 500 all the same when onError %s", async (_name, onError) => {
    const onMessage = () => {
      throw new Error("not handled");
    };
    const url = await listen(nodeHandler({ secret: SECRET, onMessage, onError }));
    expect((await post(url, BODY, SIGNED)).status).toBe(500);
  });

  it("survives a sender that disconnects in the middle of the body", async () => {
    const url = await listen(nodeHandler({ secret: SECRET, onMessage: () => {} }));
    await new Promise<void>((resolve) => {
      const cut = httpRequest(url, { method: "POST", headers: { "content-length": "1000" } });
      cut.on("error", () => resolve());
      cut.write("{", () => cut.destroy(new Error("cut")));
    });
    expect((await post(url, BODY, SIGNED)).status).toBe(200);
  });
});

describe("the default warning about refused requests", () => {
  const refused = { status: 401, reason: "X-Signature does not match" } as const;

  it("is one line a minute, with the number of requests since the last one", () => {
    const lines: string[] = [];
    let nowMs = 0;
    const warn = rejectionWarnings(
      (line) => lines.push(line),
      () => nowMs,
    );
    for (; nowMs < 150_000; nowMs += 1_000) warn(refused);
    expect(lines).toEqual([
      "Webhook request refused, 401: X-Signature does not match",
      "Webhook request refused, 401: X-Signature does not match (59 more since the last warning)",
      "Webhook request refused, 401: X-Signature does not match (59 more since the last warning)",
    ]);
  });

  it("does not stop when the clock is set back", () => {
    const lines: string[] = [];
    let nowMs = 1_000_000;
    const warn = rejectionWarnings(
      (line) => lines.push(line),
      () => nowMs,
    );
    warn(refused);
    nowMs = 0;
    warn(refused);
    expect(lines).toHaveLength(2);
  });

  it("answers as usual when onRejected throws", async () => {
    const onRejected = () => {
      throw new Error("no");
    };
    const url = await listen(nodeHandler({ secret: SECRET, onMessage: () => {}, onRejected }));
    expect((await post(url, BODY)).status).toBe(401);
  });
});

describe("memoryDedupe", () => {
  it("forgets the oldest id first", () => {
    const dedupe = memoryDedupe({ maxIds: 2 });
    for (const id of ["a", "b", "a", "c"]) dedupe.add(id);
    expect(["a", "b", "c"].map((id) => dedupe.has(id))).toEqual([true, false, true]);
  });

  it("refuses an invalid limit", () => {
    expect(() => memoryDedupe({ maxIds: 0 })).toThrow("Option `maxIds` must be an integer >= 1, got 0");
  });
});
