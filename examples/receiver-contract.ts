import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { sign } from "@sluice/webhooks";
import { expect, it } from "vitest";

const SECRET = "a secret of two";

/** Starts a receiver's script, which prints its URL first and then a line for each message. */
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

/** What every receiver of these examples does, whatever it is built with. */
export function receiverContract(script: URL): void {
  it("takes signed messages once, and refuses all others", async () => {
    await using receiver = await start(script);
    const post = (body: string, headers: Record<string, string>) =>
      fetch(receiver.url, {
        method: "POST",
        headers: { "content-type": "application/json", "x-message-id": "m1", "x-attempt": "1", ...headers },
        body,
      });
    // An integer beyond 2^53 and text beyond ASCII: only the raw bytes verify.
    const body =
      '{"version":1,"type":"track","userId":"u1","event":"Größe","properties":{"id":12345678901234567890}}';
    const signed = { "x-signature": sign(body, SECRET) };

    expect((await post(body, {})).status).toBe(401);
    expect((await post(body, { "x-signature": sign(body, "another") })).status).toBe(401);
    expect((await post(`${body} `, signed)).status).toBe(401);
    expect((await post(body, signed)).status).toBe(200);
    expect(await receiver.line()).toBe('m1: track "Größe" (attempt 1)');
    // The same message again: answered, not handled.
    expect((await post(body, { ...signed, "x-attempt": "2" })).status).toBe(200);
    expect((await post(body, { ...signed, "x-message-id": "m2" })).status).toBe(200);
    expect(await receiver.line()).toBe('m2: track "Größe" (attempt 1)');
  });
}
