import { MockAgent } from "undici";
import type { FakeCollector } from "./fake-collector.js";

/**
 * A `MockAgent` of undici that answers like the collector and blocks all other requests. Create the client with
 * `transport: undiciTransport({ dispatcher: mockAgent(collector, host) })`. It does not support the fault `"hang"`: use `loopbackCollector`.
 */
export function mockAgent(collector: FakeCollector, host: string): MockAgent {
  const agent = new MockAgent();
  agent.disableNetConnect();
  agent
    .get(new URL(host).origin)
    .intercept({ path: (path) => path.includes("/v1/"), method: "POST" })
    .reply(({ path, method, headers, body }) => {
      const ending = collector.handle({ method, path, headers: plain(headers), body: bytesOf(body) });
      if (ending.kind === "answer") {
        const { status, headers: answered, body: text } = ending.answer;
        return { statusCode: status, data: text, responseOptions: { headers: { ...answered } } };
      }
      // The request fails with what is thrown here.
      throw new Error(
        ending.kind === "reset"
          ? "reset by the fake collector"
          : "A MockAgent cannot hang: use loopbackCollector()",
      );
    })
    .persist();
  return agent;
}

function plain(headers: unknown): Record<string, string> {
  const entries = headers instanceof Headers ? [...headers] : Object.entries((headers ?? {}) as object);
  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), String(value)]));
}

/** undici's types say string, but a body of bytes arrives as bytes. */
function bytesOf(body: unknown): Uint8Array {
  return body instanceof Uint8Array ? body : Buffer.from(typeof body === "string" ? body : "");
}
