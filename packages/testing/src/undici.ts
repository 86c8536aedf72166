import { MockAgent } from "undici";
import type { FakeCollector } from "./fake-collector.js";

/**
 * undici's `MockAgent`, answering as the collector and letting nothing else out: for the client's own transport, with
 * `undiciTransport({ dispatcher: mockAgent(collector, host) })`. A `"hang"` is not possible here: use `loopbackCollector`.
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
      // undici hands what is thrown here to the request as its error.
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

/** undici's types say text; a body given as bytes comes as bytes. */
function bytesOf(body: unknown): Uint8Array {
  return body instanceof Uint8Array ? body : Buffer.from(typeof body === "string" ? body : "");
}
