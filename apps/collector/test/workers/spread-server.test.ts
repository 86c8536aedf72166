import { createServer } from "node:net";
import { manualClock } from "@sluice/resilience/testing";
import { expect, it, onTestFinished } from "vitest";
import type { HttpServer, ServerOptions } from "../../src/http/server.js";
import type { IngestThread } from "../../src/workers/ingest-threads.js";
import { type SpreadServerParts, spreadServer } from "../../src/workers/spread-server.js";

const turn = (): Promise<void> => new Promise(setImmediate);

/** A thread that can be asked to listen. Its answers come a turn later, or when the test ends them. */
interface FakeThread extends IngestThread {
  readonly calls: string[];
  /** How it answers `listen`, one after another; then it listens. */
  readonly answers: (Error | Promise<void>)[];
}

function fakeThread(place: number, ...answers: (Error | Promise<void>)[]): FakeThread {
  const calls: string[] = [];
  const call = async (name: string, [first]: unknown[]): Promise<void> => {
    calls.push(name === "closeServer" ? `close ${first}` : name);
    await turn();
    const answer = name === "listen" ? answers.shift() : undefined;
    if (answer instanceof Error) throw answer;
    await answer;
  };
  return { place, calls, answers, isReady: true, client: { call } as unknown as IngestThread["client"] };
}

/** A server over two places for threads. `failing`: how often the main thread cannot listen after it did so at the start. */
function spread({ threads, failing = 0 }: { threads: readonly FakeThread[]; failing?: number }) {
  const clock = manualClock();
  const alive = new Set<IngestThread>(threads);
  let changed: (thread: IngestThread) => void = () => {};
  /** The main thread's listeners: those that were opened, and those that are closed. */
  const here = { tries: 0, open: 0 };
  let closing = turn;
  const logged: string[] = [];
  const start = async (): Promise<HttpServer> => {
    here.tries += 1;
    const mustFail = here.tries > 1 && here.tries <= 1 + failing;
    await clock.turn();
    if (mustFail) throw new Error("EADDRINUSE");
    here.open += 1;
    const close = async (): Promise<void> => {
      await closing();
      here.open -= 1;
    };
    return { url: "http://127.0.0.1:1", port: 1, close };
  };
  const parts = {
    ...{ clock, start, use: {} },
    logger: { info: () => {}, error: (line: string) => logged.push(line) },
    threads: {
      count: 2,
      get ready() {
        return [...alive];
      },
      has: (thread: IngestThread) => alive.has(thread),
      use: (_use: unknown, then: typeof changed) => {
        changed = then;
      },
    },
  } as unknown as SpreadServerParts;
  onTestFinished(() => expect(clock.pending).toBe(0));
  const pass = async (ms = 0): Promise<void> => {
    await clock.advance(ms);
    for (let i = 0; i < 10; i++) await turn();
  };
  return {
    ...{ clock, here, logged, pass },
    open: (port = 0) =>
      spreadServer(parts, { host: "127.0.0.1", port, routes: [] } as unknown as ServerOptions),
    holdClosing(until: Promise<void>) {
      closing = () => until;
    },
    begin(thread: FakeThread) {
      alive.add(thread);
      changed(thread);
    },
    end(thread: FakeThread) {
      alive.delete(thread);
      changed(thread);
    },
  };
}

/** One that has begun to listen, with 10 s for its threads. */
async function opened(options: Parameters<typeof spread>[0]) {
  const world = spread(options);
  const opening = world.open();
  await world.clock.advance(10_000);
  const server = await opening;
  await world.pass();
  return {
    ...world,
    /** `graceMs`: what it takes at most. */
    async close(graceMs = 0) {
      const closed = server.close(100);
      await world.pass(graceMs);
      await closed;
    },
  };
}

it("has begun when all threads listen, or after 10 s", async () => {
  const answer = Promise.withResolvers<void>();
  const { clock, pass, open } = spread({ threads: [fakeThread(0), fakeThread(1, answer.promise)] });
  let server: HttpServer | undefined;
  const opening = open().then((one) => (server = one));
  await pass(9_999);
  expect(server).toBeUndefined();
  answer.resolve();
  await pass();
  expect([server?.port, clock.pending]).toEqual([1, 0]);
  await (await opening).close(0);

  const late = spread({ threads: [fakeThread(0), fakeThread(1, Promise.withResolvers<void>().promise)] });
  const beginning = late.open();
  await late.pass(10_000);
  const closed = (await beginning).close(0);
  await late.pass(1_000);
  await closed;
});

it("does not begin on the port of another process", async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void other.close());
  const { open, here } = spread({ threads: [] });
  const { port } = other.address() as { port: number };
  await expect(open(port)).rejects.toThrow("EADDRINUSE");
  expect(here.tries).toBe(0);
});

it("says nothing of a thread that ends while it is asked, and tries nothing after it has closed", async () => {
  const failing = Promise.withResolvers<void>();
  const [a, b] = [fakeThread(0), fakeThread(1, failing.promise)];
  const { clock, here, logged, end, pass, close } = await opened({ threads: [a, b] });
  end(b);
  failing.reject(new Error("the thread has ended"));
  await pass();
  expect([logged, clock.pending]).toEqual([[], 0]);
  await close();
  end(a);
  await pass();
  expect(here).toEqual({ tries: 1, open: 0 });
});

it("waits with one timer, whatever could not listen", async () => {
  const [a, b] = [0, 1].map((place) => fakeThread(place, new Error("EADDRINUSE"))) as [
    FakeThread,
    FakeThread,
  ];
  const { clock, pass, open } = spread({ threads: [a, b] });
  const opening = open();
  await pass();
  // Besides the one for the start.
  expect(clock.pending).toBe(2);
  await pass(1_000);
  expect([a.calls, b.calls]).toEqual([
    ["listen", "listen"],
    ["listen", "listen"],
  ]);
  await (await opening).close(0);
});

it("sets no timer for a thread that fails after it has closed", async () => {
  const failing = Promise.withResolvers<void>();
  const { clock, pass, close } = await opened({ threads: [fakeThread(0), fakeThread(1, failing.promise)] });
  await close(1_100);
  failing.reject(new Error("EADDRINUSE"));
  await pass();
  expect(clock.pending).toBe(0);
});

it("closes when the requests of its former listener are answered", async () => {
  const { pass, open, holdClosing } = spread({ threads: [fakeThread(0), fakeThread(1)] });
  const answered = Promise.withResolvers<void>();
  holdClosing(answered.promise);
  const opening = open();
  await pass();
  let isClosed = false;
  const closed = (await opening).close(60_000).then(() => (isClosed = true));
  await pass();
  expect(isClosed).toBe(false);
  answered.resolve();
  await closed;
});

it("listens in the threads, and in the main thread only while none of them does", async () => {
  const [a, b] = [fakeThread(0), fakeThread(1)];
  const { here, begin, end, pass, close } = await opened({ threads: [a, b] });
  expect([a.calls, b.calls, here]).toEqual([["listen"], ["listen"], { tries: 1, open: 0 }]);
  end(a);
  await pass();
  expect(here.open).toBe(0);
  end(b);
  await pass();
  expect(here.open).toBe(1);
  begin(fakeThread(0));
  await pass();
  expect(here).toEqual({ tries: 2, open: 0 });
  await close();
});

it("tries again and again to listen in place of threads that have ended", async () => {
  const [a, b] = [fakeThread(0), fakeThread(1)];
  const { here, logged, end, pass, close } = await opened({ threads: [a, b], failing: 3 });
  end(a);
  await pass();
  end(b);
  await pass();
  expect(here).toEqual({ tries: 2, open: 0 });
  await pass(10_000);
  expect([here, logged.length]).toEqual([{ tries: 5, open: 1 }, 3]);
  await close();
  expect(here.open).toBe(0);
});

it("no longer tries in the main thread when a thread listens", async () => {
  const [a, b] = [fakeThread(0), fakeThread(1)];
  const { here, begin, end, pass, close } = await opened({ threads: [a, b], failing: 1 });
  end(a);
  await pass();
  end(b);
  await pass();
  begin(fakeThread(1));
  await pass(10_000);
  expect(here).toEqual({ tries: 2, open: 0 });
  await close();
});

it("asks a thread again that could not listen", async () => {
  const [a, b] = [fakeThread(0), fakeThread(1, new Error("EADDRINUSE"), new Error("EADDRINUSE"))];
  const { here, logged, pass, close } = await opened({ threads: [a, b] });
  await pass(10_000);
  expect([a.calls, b.calls]).toEqual([["listen"], ["listen", "listen", "listen"]]);
  expect([here, logged.length]).toEqual([{ tries: 1, open: 0 }, 2]);
  await close();
});

it("asks a thread once that becomes ready while it is asked", async () => {
  const answer = Promise.withResolvers<void>();
  const [a, b] = [fakeThread(0), fakeThread(1, answer.promise)];
  const { begin, pass, close } = await opened({ threads: [a, b] });
  begin(b);
  answer.resolve();
  await pass();
  begin(b);
  await pass(10_000);
  expect(b.calls).toEqual(["listen"]);
  await close();
});

it("does not count on a thread that ended before it could answer", async () => {
  const answer = Promise.withResolvers<void>();
  const [a, b] = [fakeThread(0), fakeThread(1, answer.promise)];
  const { here, end, pass, close } = await opened({ threads: [a, b] });
  end(b);
  answer.resolve();
  await pass();
  end(a);
  await pass();
  expect(here.open).toBe(1);
  await close();
});

it.each<[name: string, answers: (Error | Promise<void>)[], calls: string[]]>([
  ["still opens", [Promise.withResolvers<void>().promise], ["listen", "close 100"]],
  ["cannot listen", Array(20).fill(new Error("EADDRINUSE")), ["close 100"]],
])("closes, and tries nothing more, while a thread %s", async (_name, answers, calls) => {
  const b = fakeThread(1, ...answers);
  const { pass, close } = await opened({ threads: [fakeThread(0), b] });
  await close(1_100);
  await pass(60_000);
  expect(b.calls.slice(-calls.length)).toEqual(calls);
});

it("closes a thread that listens only after the server was closed", async () => {
  const answer = Promise.withResolvers<void>();
  const b = fakeThread(1, answer.promise);
  const { pass, close } = await opened({ threads: [fakeThread(0), b] });
  await close(1_100);
  answer.resolve();
  await pass();
  expect(b.calls).toEqual(["listen", "close 100", "close 0"]);
});

it("closes while the main thread cannot listen", async () => {
  const [a, b] = [fakeThread(0), fakeThread(1)];
  const { here, end, pass, close } = await opened({ threads: [a, b], failing: 100 });
  end(a);
  await pass();
  end(b);
  await pass();
  await close();
  const { tries } = here;
  await pass(60_000);
  expect(here).toEqual({ tries, open: 0 });
});
