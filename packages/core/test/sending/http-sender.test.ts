import { setImmediate as turn } from "node:timers/promises";
import { manualClock } from "@sluice/resilience/testing";
import { expect, it } from "vitest";
import { httpSender } from "../../src/sending/http-sender.js";
import { batchOf } from "../doubles/scripted-sender.js";
import { scriptedTransport } from "../doubles/scripted-transport.js";

it.each<
  [name: string, gzip: ((text: string) => Promise<Uint8Array>) | undefined, encoding: string | undefined]
>([
  ["as it is without gzip", undefined, undefined],
  ["compressed", (text) => turn(Buffer.from(text.toUpperCase())), "gzip"],
  [
    "as it is if it cannot be compressed",
    async () => {
      await turn();
      throw new Error("no gzip here");
    },
    undefined,
  ],
])("a body goes %s, and its header says so", async (_name, gzip, encoding) => {
  const transport = scriptedTransport([200]);
  const bytes: number[] = [];
  const sender = httpSender({
    ...{ url: "http://collector.example/v1/batch", writeKey: "key", userAgent: "test/1", timeoutMs: 1_000 },
    ...{ transport, clock: manualClock(), gzip, onRequest: (report) => bytes.push(report.bytes) },
  });
  const sends = transport.send;
  const bodies: (string | Uint8Array)[] = [];
  transport.send = (request, signal) => {
    bodies.push(request.body);
    return sends({ ...request, body: String(request.body).toLowerCase() }, signal);
  };
  expect(await sender.send(batchOf("a"), new AbortController().signal)).toMatchObject({ kind: "delivered" });
  expect(transport.requests[0]?.request.headers["content-encoding"]).toBe(encoding);
  expect(typeof bodies[0]).toBe(encoding === undefined ? "string" : "object");
  expect(bytes).toEqual([bodies[0]?.length]);
});
