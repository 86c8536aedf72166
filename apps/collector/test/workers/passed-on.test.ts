import { once } from "node:events";
import { setImmediate as turn } from "node:timers/promises";
import { MessageChannel } from "node:worker_threads";
import { expect, it, onTestFinished } from "vitest";
import { CollectorError } from "../../src/errors.js";
import type { HttpAnswer, HttpRequest, Route } from "../../src/http/routing.js";
import { answerPassedOn } from "../../src/workers/answer-passed-on.js";
import { headOf, remoteRoutes } from "../../src/workers/remote-routes.js";

const NO_PROXIES = { count: 0, headers: "x-forwarded" } as const;

type Handler = (request: HttpRequest) => Promise<HttpAnswer>;

/** A route in one thread whose handler runs in another. `ask` makes a request; its client reads a body of `body`. */
function passing(handler: Handler) {
  const { port1, port2 } = new MessageChannel();
  onTestFinished(() => {
    port1.close();
  });
  const route: Route = { path: "/", methods: { POST: handler } };
  answerPassedOn(port1, () => [route], NO_PROXIES);
  const [remote] = remoteRoutes(port2, [headOf(route)]);
  const ask = async (request: Partial<HttpRequest> = {}): Promise<HttpAnswer> => {
    const whole = {
      ...{ method: "POST", path: "/", params: {}, query: new URLSearchParams(), headers: {} },
      ...{ remoteAddress: "127.0.0.1", isLocal: true, signal: new AbortController().signal },
      ...{ vouch() {}, readBody: async () => Buffer.from("body"), dropBody: async () => {} },
      ...request,
    };
    return (await remote?.methods.POST?.(whole as unknown as HttpRequest)) as HttpAnswer;
  };
  return { ask, end: async () => Promise.all([once(port1, "close"), port2.close()]) };
}

const failure = (asked: Promise<unknown>) =>
  asked.then(
    () => "read",
    (error: unknown) => (error instanceof CollectorError ? error.code : String(error)),
  );

it("answers two requests at once, each with its own body", async () => {
  const bodies = [Promise.withResolvers<Uint8Array>(), Promise.withResolvers<Uint8Array>()];
  const { ask } = passing(async (request) => ({ status: 200, body: await request.readBody(100) }));
  const answers = bodies.map(({ promise }) => ask({ readBody: () => promise }));
  bodies[1]?.resolve(Buffer.from("second"));
  bodies[0]?.resolve(Buffer.from("first"));
  const read = (await Promise.all(answers)).map(({ body }) => Buffer.from(body as Uint8Array).toString());
  expect(read).toEqual(["first", "second"]);
});

it.each<[name: string, isAborted: "before" | "meanwhile"]>([
  ["before its handler reads the body", "before"],
  ["while its handler waits for the body", "meanwhile"],
])("a request whose thread ends %s is over for the handler", async (_, when) => {
  const [asked, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const result = Promise.withResolvers<string>();
  const { ask, end } = passing(async (request) => {
    if (when === "before") {
      asked.resolve();
      await goOn.promise;
    }
    const reading = failure(request.readBody(100));
    asked.resolve();
    result.resolve(`${await reading} ${request.signal.aborted}`);
    return { status: 200 };
  });
  void ask({ readBody: () => new Promise(() => {}) });
  await asked.promise;
  await end();
  goOn.resolve();
  expect(await result.promise).toBe("request_timeout true");
});

it("a client that leaves aborts its request once, and what is written afterwards reaches nobody", async () => {
  const client = new AbortController();
  const seen = Promise.withResolvers<string>();
  const started = Promise.withResolvers<void>();
  const { ask } = passing(async () => ({
    status: 200,
    async stream(write, signal, drained) {
      started.resolve();
      await once(signal, "abort");
      write("late");
      await drained();
      seen.resolve("drained");
    },
  }));
  const { stream } = await ask({ signal: client.signal });
  await started.promise;
  const written: unknown[] = [];
  const ended = stream?.(
    (chunk) => written.push(chunk) > 0,
    client.signal,
    async () => {},
  );
  client.abort();
  expect(await seen.promise).toBe("drained");
  await ended;
  await turn();
  expect(written.length).toBeLessThanOrEqual(1);
});
