import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { postBatch } from "../../src/connection/post-batch.js";
import type { Io } from "../../src/terminal/io.js";

type Answer = (response: ServerResponse) => void;

const json =
  (status: number, body: object): Answer =>
  (response) =>
    void response.writeHead(status, { "retry-after": "0" }).end(JSON.stringify(body));
/** Breaks the connection off in the middle of an answer. */
const cut =
  (status: number): Answer =>
  (response) => {
    response.writeHead(status, { "content-length": "100" });
    response.write('{"success":', () => response.socket?.resetAndDestroy());
  };
const STORED = json(200, { success: true, accepted: 1, duplicates: 1 });

it.each<[name: string, answers: readonly Answer[], expected: object | RegExp, requests: number]>([
  ["stored", [STORED], { accepted: 1 }, 1],
  ["busy, then stored", [json(503, { message: "busy" }), STORED], { accepted: 1 }, 2],
  ["stored, with an answer that is cut off", [cut(200), STORED], { accepted: 1, duplicates: 1 }, 2],
  ["refused, with an answer that is cut off", [cut(400), json(400, { message: "no batch" })], /no batch/, 2],
  ["no answer of a collector", [(response) => void response.end("<html>")], /responded with 200/, 1],
  ["a wrong key", [json(401, { message: "no source has this write key" })], /no source/, 1],
])(
  "a batch is sent again with the same messages while that can help: %s",
  async (_name, answers, expected, count) => {
    const bodies: string[] = [];
    const server = createServer(async (request, response) => {
      let text = "";
      for await (const chunk of request) text += chunk;
      bodies.push(JSON.stringify(JSON.parse(text).batch));
      answers[bodies.length - 1]?.(response);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.closeAllConnections());
    onTestFinished(() => void server.close());
    const io = {
      now: Date.now,
      monotonic: () => 0,
      interrupted: new AbortController().signal,
    } as unknown as Io;
    const { port } = server.address() as AddressInfo;
    const posted = postBatch({
      url: `http://127.0.0.1:${port}`,
      writeKey: "k",
      batch: [{ messageId: "m" }],
      io,
    });
    if (expected instanceof RegExp) await expect(posted).rejects.toThrow(expected);
    else expect(await posted).toMatchObject(expected);
    expect(bodies).toEqual(Array(count).fill('[{"messageId":"m"}]'));
  },
);
