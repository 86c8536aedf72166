import { createHmac } from "node:crypto";
import { connect } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type CollectorWorld, openCollector } from "../audiences/collector-world.js";
import { closeReceivers, type Received, startReceiver } from "../delivery/receiver.js";

/** Changes of each kind; after each one a few messages are sent. */
const CHANGES = 10;
const MESSAGES = 4;

closeReceivers();

let world: CollectorWorld;
let others: OtherClients;

beforeEach(async () => {
  world = await openCollector();
  others = await changeOtherDestinations(world, 8);
});

afterEach(async () => {
  await others.stop();
  await world.close();
});

interface OtherClients {
  stop(): Promise<void>;
}

/** Clients that change destinations of their own, one change after the other, until they are stopped. */
async function changeOtherDestinations(world: CollectorWorld, clients: number): Promise<OtherClients> {
  let isStopped = false;
  const ids = await Promise.all(
    Array.from({ length: clients }, (_, index) => world.webhook(`http://127.0.0.1:9/other-${index}`, [])),
  );
  const loops = ids.map(async (id) => {
    for (let change = 0; !isStopped; change++) {
      const { status } = await world.api("PATCH", `/destinations/${id}`, {
        settings: { sharedSecret: `secret ${change}` },
        enabled: change % 3 !== 0,
      });
      expect(status).toBe(200);
    }
  });
  return {
    stop: async () => {
      isStopped = true;
      await Promise.all(loops);
    },
  };
}

/** Changes something through the control API, then sends messages that are named after the change, and does with them what `then` says. */
async function changeAndSend(
  change: (number: number) => { readonly path: string; readonly body: object },
  then: (number: number) => Promise<void> = async () => {},
): Promise<void> {
  for (let number = 0; number < CHANGES; number++) {
    const { path, body } = change(number);
    const answer = await world.api("PATCH", path, body);
    expect(answer.status).toBe(200);
    await Promise.all(
      idsOf(number).map((messageId) =>
        world.send([{ type: "track", event: "Ordered", userId: "u1", messageId }]),
      ),
    );
    await then(number);
  }
}

/** Even changes drop the messages, odd ones let them pass. The next change comes after: it may be in force when a message is sent. */
async function dropsEveryOther(number: number): Promise<void> {
  const expected = number % 2 === 0 ? "filtered" : "delivered";
  await expect.poll(() => statesOf(number)).toEqual(idsOf(0).map(() => expected));
}

function idsOf(change: number): string[] {
  return Array.from({ length: MESSAGES }, (_, index) => `m-${change}-${index}`);
}

function changeOf({ messageId }: Pick<Received, "messageId">): number {
  return Number(messageId.split("-")[1]);
}

async function statesOf(change: number): Promise<string[]> {
  const details = await Promise.all(idsOf(change).map((id) => world.api("GET", `/messages/${id}`)));
  return details.map(({ body }) => body.outcomes?.[0]?.state ?? "none");
}

describe("what is acknowledged after a change was answered obeys it, while other clients change other destinations", () => {
  test("the URL", async () => {
    const receiver = await startReceiver();
    const id = await world.webhook(receiver.url, [world.sourceId]);
    await changeAndSend((number) => ({
      path: `/destinations/${id}`,
      body: { settings: { webhooks: [{ url: `${receiver.url}/${number}` }] } },
    }));
    await receiver.until(CHANGES * MESSAGES);
    // A later change may have come before the message was sent.
    const wrong = receiver.received.filter(
      (request) => !(Number(request.path.split("/").at(-1)) >= changeOf(request)),
    );
    expect(wrong.map(({ messageId }) => messageId)).toEqual([]);
  });

  test("the shared secret", async () => {
    const receiver = await startReceiver();
    const id = await world.webhook(receiver.url, [world.sourceId]);
    await changeAndSend((number) => ({
      path: `/destinations/${id}`,
      body: { settings: { sharedSecret: `secret ${number}` } },
    }));
    await receiver.until(CHANGES * MESSAGES);
    // A later change may have come before the message was sent.
    const wrong = receiver.received.filter(({ body, headers, ...request }) => {
      const secrets = Array.from({ length: CHANGES }, (_, number) => number).slice(changeOf(request));
      return !secrets.some(
        (number) =>
          createHmac("sha1", `secret ${number}`).update(body).digest("hex") === headers["x-signature"],
      );
    });
    expect(wrong.map(({ messageId }) => messageId)).toEqual([]);
  });

  test("a source's block list", async () => {
    const receiver = await startReceiver();
    await world.webhook(receiver.url, [world.sourceId]);
    await changeAndSend(
      (number) => ({
        path: `/sources/${world.sourceId}`,
        body: { blockedEvents: number % 2 === 0 ? ["Ordered"] : [] },
      }),
      dropsEveryOther,
    );
  });

  test("a destination's filter", async () => {
    const receiver = await startReceiver();
    const id = await world.webhook(receiver.url, [world.sourceId]);
    await changeAndSend(
      (number) => ({
        path: `/destinations/${id}`,
        body: { filters: number % 2 === 0 ? [{ events: ["Ordered"], action: { kind: "drop" } }] : [] },
      }),
      dropsEveryOther,
    );
  });

  test("a transformation's code and its secrets", async () => {
    const receiver = await startReceiver();
    const id = await world.webhook(receiver.url, [world.sourceId]);
    const codeOf = (number: number) =>
      `export default (message, { secrets }) => ({ ...message, event: "${number} " + secrets.KEY })`;
    const { body } = await world.api("POST", "/transformations", {
      name: "Numbered",
      code: codeOf(0),
      secrets: { KEY: "s0" },
    });
    await world.api("PATCH", `/destinations/${id}`, { transformationId: body.id });
    await changeAndSend((number) => ({
      path: `/transformations/${body.id}`,
      body: { code: codeOf(number), secrets: { KEY: `s${number}` } },
    }));
    await receiver.until(CHANGES * MESSAGES);
    // A later change may have come before the message was sent.
    const wrong = receiver.received.filter((request) => {
      const [, version, secret] = /(\d+) s(\d+)/.exec(JSON.parse(request.body).event) ?? [];
      return version !== secret || !(Number(version) >= changeOf(request));
    });
    expect(wrong.map(({ messageId }) => messageId)).toEqual([]);
  });

  test("whether the destination is enabled", async () => {
    const receiver = await startReceiver();
    const id = await world.webhook(receiver.url, [world.sourceId]);
    await changeAndSend((number) => ({ path: `/destinations/${id}`, body: { enabled: number % 2 === 1 } }));
    for (let number = 0; number < CHANGES; number++) {
      const expected = number % 2 === 0 ? "skipped" : "delivered";
      await expect.poll(() => statesOf(number)).toEqual(idsOf(0).map(() => expected));
    }
    expect(receiver.received.filter((request) => changeOf(request) % 2 === 0)).toEqual([]);
  });

  test("whether the destination exists", async () => {
    const receiver = await startReceiver();
    for (let number = 0; number < CHANGES; number++) {
      const id = await world.webhook(receiver.url, [world.sourceId]);
      const { status } = await world.api("DELETE", `/destinations/${id}`);
      expect(status).toBe(204);
      await world.send(idsOf(number).map((messageId) => ({ type: "page", userId: "u1", messageId })));
    }
    const last = await world.webhook(receiver.url, [world.sourceId]);
    await world.send([{ type: "page", userId: "u1", messageId: "last" }]);
    await receiver.until(1);
    expect(receiver.received.map(({ messageId }) => messageId)).toEqual(["last"]);
    expect(last).toMatch(/^dst_/);
  });
});

describe("a request that came in before its write key was deleted", () => {
  test("is refused when its body ends after the deletion was answered", async () => {
    const { body } = await world.api("POST", `/sources/${world.sourceId}/write-keys`);
    const key: string = body.writeKeys.at(-1).key;
    const request = openRequest({
      line: "POST /v1/page HTTP/1.1",
      authorization: `Basic ${btoa(`${key}:`)}`,
      body: '{"type":"page","userId":"u1","messageId":"late"}',
    });
    await request.begin();
    const { status } = await world.api("DELETE", `/sources/${world.sourceId}/write-keys/${key}`);
    expect(status).toBe(204);
    expect(await request.end()).toContain("401");
    expect((await world.api("GET", "/messages/late")).body.state).not.toBe("delivered");
  });
});

describe("a request that came in before its token was revoked", () => {
  test("is refused when its body ends after the revocation was answered", async () => {
    const { body } = await world.api("POST", "/tokens", { name: "short-lived" });
    const request = openRequest({
      line: "POST /api/v1/sources HTTP/1.1",
      authorization: `Bearer ${body.token}`,
      body: '{"name":"Late"}',
    });
    await request.begin();
    expect((await world.api("DELETE", `/tokens/${body.id}`)).status).toBe(204);
    expect(await request.end()).toContain("401");
    const { body: list } = await world.api("GET", "/sources");
    expect(list.items.map(({ name }: { name: string }) => name)).not.toContain("Late");
  });
});

interface OpenRequest {
  readonly line: string;
  readonly authorization: string;
  readonly body: string;
}

/** A request whose head and first byte are sent with `begin`, the rest with `end`, which resolves with the status line. */
function openRequest({ line, authorization, body }: OpenRequest) {
  const { hostname, port } = new URL(world.collector.url);
  const socket = connect(Number(port), hostname);
  const head = [
    line,
    `Host: ${hostname}`,
    `Authorization: ${authorization}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Expect: 100-continue",
    "Connection: close",
  ];
  let text = "";
  const heard = (until: () => boolean) =>
    new Promise<void>((resolve) => {
      const check = (): void => {
        if (until()) resolve();
      };
      socket.on("data", check);
      socket.on("close", () => resolve());
      check();
    });
  socket.on("data", (chunk) => {
    text += String(chunk);
  });
  return {
    begin: async () => {
      socket.write(`${head.join("\r\n")}\r\n\r\n`);
      // The collector reads the body once it knows whose request it is.
      await heard(() => text.includes("100 Continue"));
      socket.write(body.slice(0, 1));
    },
    end: async () => {
      socket.write(body.slice(1));
      await heard(() => /HTTP\/1\.1 [2-5]/.test(text));
      return /HTTP\/1\.1 [2-5].*/.exec(text)?.[0] ?? text;
    },
  };
}
