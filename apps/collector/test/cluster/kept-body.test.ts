import type { IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import { systemClock } from "@sluice/resilience";
import { expect, test } from "vitest";
import { type KeptBodies, keepBody, keptBodies, type PassedBody } from "../../src/cluster/front/kept-body.js";

const MB = 1_024 * 1_024;
const NEVER = new AbortController().signal;

/** A request that announces these bytes, and has sent nothing yet. */
function requestOf(announced: number): PassThrough & IncomingMessage {
  const headers = { "content-length": String(announced) };
  return Object.assign(new PassThrough(), { headers }) as unknown as PassThrough & IncomingMessage;
}

const keep = (message: IncomingMessage, memory: KeptBodies, client: string): Promise<PassedBody> =>
  keepBody(message, memory.of(client), NEVER);

test("a client that announces more than there is memory, and sends nothing, leaves room for another", async () => {
  const memory = keptBodies(8 * MB, systemClock);
  for (let i = 0; i < 100; i++) void keep(requestOf(MB), memory, "203.0.113.1").catch(() => {});
  // One client gets half. Its other bodies are passed on as they come.
  expect(memory.usedBytes).toBe(4 * MB);
  const message = requestOf(5);
  const body = keep(message, memory, "203.0.113.2");
  message.end("12345");
  const kept = await body;
  expect(kept).toMatchObject({ kind: "kept", bytes: Buffer.from("12345") });
  if (kept.kind === "kept") kept.release();
  expect(memory.usedBytes).toBe(4 * MB);
});
