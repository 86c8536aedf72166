import { type LoopbackCollector, loopbackCollector } from "@sluice/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runProgram } from "./programs/run-program.js";

let collector: LoopbackCollector;

beforeEach(async () => {
  collector = await loopbackCollector();
});
afterEach(async () => {
  await collector.close();
});

/** Makes 10,000 numbered calls. */
const TRACK_ALL =
  'for (let i = 0; i < 10_000; i++) analytics.track({ userId: "u", event: "E", messageId: "m" + i });\n';
const CREATE = 'const analytics = new Analytics({ writeKey: "k", host: url });\n';

function arrived(): number {
  return new Set(collector.messages.map(({ messageId }) => messageId)).size;
}

describe("10,000 of 10,000 arrive", () => {
  it.each<[name: string, source: string]>([
    ["when the script simply ends", CREATE + TRACK_ALL],
    ["after await close()", `${CREATE}${TRACK_ALL}await analytics.close();`],
    [
      "in await using",
      `{ await using analytics = new Analytics({ writeKey: "k", host: url });\n${TRACK_ALL} }`,
    ],
    [
      "in a worker thread",
      `import { Worker, isMainThread } from "node:worker_threads";
       const source = ${JSON.stringify(`import("@sluice/node").then(({ Analytics }) => { const url = process.env.URL; ${CREATE}${TRACK_ALL} });`)};
       new Worker(source, { eval: true, env: { URL: url } });`,
    ],
    ["when the first answers are 503", CREATE + TRACK_ALL],
  ])("%s", async (name, source) => {
    if (name.includes("503")) collector.faults.add({ status: 503 }, { status: 503 });
    const { code, stderr } = await runProgram(source, { url: collector.url }).ended;
    const lines = name.includes("503")
      ? expect.stringMatching(/^\[sluice\] .* failed 2 times: HTTP 503.*\n$/)
      : "";
    expect([code, stderr, arrived()]).toEqual([0, lines, 10_000]);
  });

  it.each(["SIGTERM", "SIGINT"] as const)(
    "on %s with flushOnSignals, and the process ends of its signal",
    async (signal) => {
      const source = `const analytics = new Analytics({ writeKey: "k", host: url, flushOnSignals: true, flushAt: 1_000_000 });
      ${TRACK_ALL} setInterval(() => {}, 1_000); console.log("ready");`;
      const program = runProgram(source, { url: collector.url });
      await program.printed("ready");
      program.kill(signal);
      const end = await program.ended;
      expect([end.code, end.signal, end.stderr, arrived()]).toEqual([null, signal, "", 10_000]);
    },
  );
});

describe("at the end of the process", () => {
  it("the application's own signal handler decides when to end, and is called once", async () => {
    const source = `const analytics = new Analytics({ writeKey: "k", host: url, flushOnSignals: true });
      process.on("SIGTERM", () => {
        console.log("handler");
        analytics.on("delivered", () => setTimeout(() => process.exit(7), 300));
      });
      analytics.track({ userId: "u", event: "E" }); setInterval(() => {}, 1_000); console.log("ready");`;
    const program = runProgram(source, { url: collector.url });
    await program.printed("ready");
    program.kill("SIGTERM");
    const { code, stdout } = await program.ended;
    expect([code, stdout.match(/handler/g)?.length, arrived()]).toEqual([7, 1, 1]);
  });

  it("messages that are tracked during the flush of a signal arrive, too", async () => {
    const source = `const analytics = new Analytics({ writeKey: "k", host: url, flushOnSignals: true, flushAt: 1_000 });
      let isLate = false;
      analytics.on("delivered", () => {
        if (!isLate) analytics.track({ userId: "u", event: "Late" });
        isLate = true;
      });
      analytics.track({ userId: "u", event: "E" }); setInterval(() => {}, 1_000); console.log("ready");`;
    const program = runProgram(source, { url: collector.url });
    await program.printed("ready");
    program.kill("SIGTERM");
    const { signal, stderr } = await program.ended;
    expect([signal, stderr, arrived()]).toEqual(["SIGTERM", "", 2]);
  });

  it("a signal without the option ends the process at once", async () => {
    const source = `${CREATE} analytics.track({ userId: "u", event: "E" }); setInterval(() => {}, 1_000); console.log("ready");`;
    const program = runProgram(source, { url: collector.url });
    await program.printed("ready");
    program.kill("SIGTERM");
    expect((await program.ended).signal).toBe("SIGTERM");
  });

  it("waits no longer than exitFlushTimeoutMs for a server that is down, and reports the loss", async () => {
    const source = `const analytics = new Analytics({ writeKey: "k", host: "http://127.0.0.1:1", exitFlushTimeoutMs: 300, quiet: true,
        onError: (status, message, { code, messages }) => console.log(status, code, messages.length) });
      for (let i = 0; i < 3; i++) analytics.track({ userId: "u", event: "E" });`;
    const { code, stdout, stderr } = await runProgram(source, { url: collector.url }).ended;
    expect([code, stdout, stderr]).toEqual([0, "-1 exit_deadline 3\n", ""]);
  });

  it("says on stderr that nothing listens, and what was lost, in two lines", async () => {
    const source = `const analytics = new Analytics({ writeKey: "k", host: "http://127.0.0.1:1", exitFlushTimeoutMs: 1_000 });
      for (let i = 0; i < 3; i++) analytics.track({ userId: "u", event: "E" });`;
    const { code, stderr } = await runProgram(source, { url: collector.url }).ended;
    expect(code).toBe(0);
    expect(stderr.split("\n")).toEqual([
      expect.stringMatching(
        /^\[sluice\] Sending to http:\/\/127\.0\.0\.1:1\/v1\/batch failed 2 times: .*ECONNREFUSED.*\. The SDK keeps trying\./,
      ),
      expect.stringMatching(/^\[sluice\] 3 messages were lost, .*Set `onError`/),
      "",
    ]);
  });

  it("an onError that tracks the loss does not keep the process alive", async () => {
    const source = `const analytics = new Analytics({ writeKey: "k", host: "http://127.0.0.1:1", exitFlushTimeoutMs: 200, quiet: true,
        onError: () => { analytics.track({ userId: "u", event: "Lost" }); } });
      analytics.track({ userId: "u", event: "E" });`;
    const { code, stderr } = await runProgram(source, { url: collector.url }).ended;
    expect([code, stderr]).toEqual([0, ""]);
  });

  it.each([
    ["process.exit()", "process.exit(3);", 3],
    ["an uncaught exception", 'throw new Error("the host");', 1],
  ])(
    "what is lost by %s is told before the process is gone, and later calls are refused",
    async (_name, end, code) => {
      const source = `const analytics = new Analytics({ writeKey: "k", host: url,
        onError: (status, _message, { code, messages }) => console.log(status, code, messages.length) });
      for (let i = 0; i < 3; i++) analytics.track({ userId: "u", event: "E" });
      process.on("exit", () => {
        console.log(analytics.track({ userId: "u", event: "Late" }).reason);
        console.log(JSON.stringify(analytics.stats()));
      }); ${end}`;
      const ended = await runProgram(source, { url: collector.url }).ended;
      expect(ended.code).toBe(code);
      expect(ended.stdout.split("\n")).toEqual([
        "-1 exit_deadline 3",
        "-1 closed 1",
        "closed",
        expect.stringContaining('"delivered":0,"failed":3,"refused":1,"queued":0'),
        "",
      ]);
    },
  );

  it("an uncaught exception keeps its exit code and stack", async () => {
    const { code, stderr } = await runProgram(
      `${CREATE} analytics.track({ userId: "u", event: "E" }); throw new Error("the host's own");`,
      {
        url: collector.url,
      },
    ).ended;
    expect(code).toBe(1);
    expect(stderr).toContain("Error: the host's own");
  });

  it("nothing of a client that was closed holds the process", async () => {
    const source = `${CREATE}analytics.track({ userId: "u", event: "E" });
      await analytics.close();
      for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
      console.log(process.getActiveResourcesInfo().filter((name) => name !== "PipeWrap"));`;
    const { code, stdout } = await runProgram(source, { url: collector.url }).ended;
    expect([code, stdout, arrived()]).toEqual([0, "[]\n", 1]);
  });

  it("an unused or idle client does not keep the process alive", async () => {
    const source = `${CREATE} new Analytics({ writeKey: "k", host: url }); analytics.track({ userId: "u", event: "E" }); await analytics.flush(); console.log("flushed");`;
    const { code, stdout } = await runProgram(source, { url: collector.url }).ended;
    expect([code, stdout]).toEqual([0, "flushed\n"]);
  });

  it("a pending flush() keeps the process alive during its retries", async () => {
    collector.faults.add({ status: 503 }, { status: 503 }, { status: 503 });
    const source = `${CREATE} analytics.track({ userId: "u", event: "E" }); console.log(JSON.stringify(await analytics.flush()));`;
    const { code, stdout } = await runProgram(source, { url: collector.url }).ended;
    expect([code, JSON.parse(stdout)]).toEqual([0, { delivered: 1, failed: 0, refused: 0 }]);
  });

  it("a hundred clients share one listener per event, and closing them removes it", async () => {
    const source = `const clients = Array.from({ length: 100 }, () => new Analytics({ writeKey: "k", host: url, flushOnSignals: true }));
      const count = () => ["beforeExit", "exit", "SIGTERM", "SIGINT"].map((name) => process.listenerCount(name));
      console.log(JSON.stringify(count()));
      await Promise.all(clients.map((client) => client.close()));
      console.log(JSON.stringify(count()));`;
    const { stdout, stderr } = await runProgram(source, { url: collector.url }).ended;
    expect([stdout, stderr]).toEqual(["[1,1,1,1]\n[0,0,0,0]\n", ""]);
  });
});
