import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { sign, signStandard } from "@sluice/webhooks";
import { expect, it } from "vitest";

const SECRET = "a shared secret";

/** Starts the script of a receiver. It prints its URL, and then a line for each message. */
async function start(script: URL) {
  const child = spawn(process.execPath, [fileURLToPath(script)], {
    env: { ...process.env, SHARED_SECRET: SECRET, PORT: "0" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    url: String((await lines.next()).value),
    line: async () => String((await lines.next()).value),
    async [Symbol.asyncDispose]() {
      const ended = once(child, "exit");
      child.kill();
      await ended;
    },
  };
}

/** The tests that the receiver of every example must pass. */
export function receiverContract(script: URL): void {
  it("handles signed messages once, and refuses all others", async () => {
    await using receiver = await start(script);
    const post = (body: string, headers: Record<string, string>) =>
      fetch(receiver.url, {
        method: "POST",
        headers: { "content-type": "application/json", "x-message-id": "m1", "x-attempt": "1", ...headers },
        body,
      });
    // With an integer beyond 2^53 and text beyond ASCII, only the raw body passes verification.
    const body =
      '{"version":1,"type":"track","messageId":"m1","userId":"u1","event":"Größe","properties":{"id":12345678901234567890}}';
    const signed = { "x-signature": sign(body, SECRET) };

    expect((await post(body, {})).status).toBe(401);
    expect((await post(body, { "x-signature": sign(body, "another") })).status).toBe(401);
    expect((await post(`${body} `, signed)).status).toBe(401);
    expect((await post(body, signed)).status).toBe(200);
    expect(await receiver.line()).toBe('m1: track "Größe" (attempt 1)');
    // The same message again, whatever its unsigned headers are: it is answered with 200 but not handled.
    expect((await post(body, { ...signed, "x-attempt": "2" })).status).toBe(200);
    expect((await post(body, { ...signed, "x-message-id": "m2" })).status).toBe(200);
    const standard = signStandard(body, SECRET, { id: "m1", timestampMs: Date.now() });
    expect((await post(body, { ...standard })).status).toBe(200);
    expect((await post(body, { ...standard, "webhook-id": "m2" })).status).toBe(401);
    const next = body.replace('"m1"', '"m2"');
    const nextSigned = signStandard(next, SECRET, { id: "m2", timestampMs: Date.now() });
    expect((await post(next, { ...nextSigned })).status).toBe(200);
    expect(await receiver.line()).toBe('m2: track "Größe" (attempt 1)');
  });
}
