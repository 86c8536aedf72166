import type { IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import { systemClock } from "@sluice/resilience";
import { describe, expect, test } from "vitest";
import { type KeptBodies, keepBody, keptBodies, type PassedBody } from "../../src/cluster/front/kept-body.js";

const MB = 1_024 * 1_024;
const NEVER = new AbortController().signal;

/** A request that announces these bytes, or a body of unknown length, and has sent nothing yet. */
function requestOf(announced: number | "unknown"): PassThrough & IncomingMessage {
  const headers =
    announced === "unknown" ? { "transfer-encoding": "chunked" } : { "content-length": String(announced) };
  return Object.assign(new PassThrough(), { headers }) as unknown as PassThrough & IncomingMessage;
}

/** Requests of one client that never send what they announce. */
function holdBack(memory: KeptBodies, client: string, count: number, isNeeded: boolean): void {
  for (let i = 0; i < count; i++)
    void keepBody(requestOf(isNeeded ? "unknown" : MB), memory.of(client), NEVER, isNeeded).catch(() => {});
}

async function sent(memory: KeptBodies, client: string, isNeeded: boolean): Promise<PassedBody> {
  const message = requestOf(5);
  const body = keepBody(message, memory.of(client), NEVER, isNeeded);
  message.end("12345");
  return body;
}

describe("bodies that are kept, while a client announces more than there is memory and sends nothing", () => {
  test.each([
    ["that must be read", true],
    ["that could be passed on as they come", false],
  ])("another client's, %s", async (_name, isNeeded) => {
    for (const isOthersNeeded of [true, false]) {
      const memory = keptBodies(8 * MB, systemClock);
      holdBack(memory, "203.0.113.1", 100, isOthersNeeded);
      expect(await sent(memory, "203.0.113.2", isNeeded)).toMatchObject({ kind: "kept" });
    }
  });

  test("take memory as they arrive if they must be read, and no more than there is", async () => {
    const memory = keptBodies(8 * MB, systemClock);
    const messages = Array.from({ length: 16 }, () => requestOf("unknown"));
    const bodies = messages.map((message) => keepBody(message, memory.of("203.0.113.1"), NEVER, true));
    const ended = Promise.allSettled(bodies);
    expect(memory.usedBytes).toBe(0);
    for (const message of messages) message.end(Buffer.alloc(MB / 2));
    const results = await ended;
    const kept = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
    // One client gets half.
    expect(kept).toHaveLength(8);
    expect(memory.usedBytes).toBe(4 * MB);
    for (const result of results)
      if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "overloaded" });
    for (const body of kept) if (body.kind === "kept") body.release();
    expect(memory.usedBytes).toBe(0);
  });
});
