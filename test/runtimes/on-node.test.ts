import { rmSync } from "node:fs";
import { type LoopbackCollector, loopbackCollector } from "@sluice/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Application, application } from "./application.ts";
import { BUNDLERS, type Format } from "./bundlers.ts";
import { describeOnRuntimes, RUNTIMES, type RuntimeName } from "./tools.ts";

const ALL = Object.keys(RUNTIMES) as RuntimeName[];
const NODES = ALL.filter((name) => name.startsWith("Node.js"));
const ALL_DELIVERED = JSON.stringify({ delivered: 250, failed: 0, refused: 0 });

describeOnRuntimes("processes", () => {
  let app: Application;
  let collector: LoopbackCollector;
  beforeAll(() => {
    app = application([
      "test/runtimes/programs/script.mjs",
      "test/runtimes/programs/common-js.cjs",
      "test/runtimes/programs/spool.mjs",
      "test/runtimes/programs/invoke-lambda.mjs",
      "test/runtimes/programs/vercel-node.mjs",
      "examples/serverless/src/lambda.mjs",
      "examples/serverless/src/vercel.mjs",
    ]);
  });
  afterAll(() => app.remove());
  beforeEach(async () => {
    collector = await loopbackCollector();
  });
  afterEach(() => collector.close());

  const expectMessages = (count: number): void => {
    const ids = new Set(collector.messages.map(({ messageId }) => messageId));
    expect([collector.messages.length, ids.size]).toEqual([count, count]);
  };

  describe.each(ALL)("%s", (runtime) => {
    it.each(["script.mjs", "common-js.cjs"])("delivers all messages of %s", async (file) => {
      const { stdout, stderr } = await app.run(runtime, file, { SLUICE_URL: collector.url });
      expect([stdout.trim(), stderr]).toEqual([ALL_DELIVERED, ""]);
      expectMessages(250);
    });
  });

  describe.each(Object.keys(BUNDLERS) as (keyof typeof BUNDLERS)[])("bundled with %s", (bundler) => {
    it.each<[Format, string]>([
      ["esm", "mjs"],
      ["cjs", "cjs"],
    ])("to %s, delivers all messages on every Node.js", async (format, extension) => {
      const source = format === "esm" ? "script.mjs" : "common-js.cjs";
      const output = `script-${bundler}.${extension}`;
      await BUNDLERS[bundler]({ application: app, source, output, target: "node", format });
      for (const runtime of NODES) {
        const { stdout } = await app.run(runtime, output, { SLUICE_URL: collector.url });
        expect(stdout.trim()).toBe(ALL_DELIVERED);
      }
      expectMessages(250 * NODES.length);
    });
  });

  it.each(NODES)("delivers the messages of the recipe for Vercel on %s", async (runtime) => {
    const env = { SLUICE_URL: collector.url, SLUICE_WRITE_KEY: "key" };
    const { stdout, stderr } = await app.run(runtime, "vercel-node.mjs", env);
    expect([stdout.trim(), stderr]).toEqual(["5 invocations", ""]);
    expectMessages(5);
  });

  it("delivers the messages of the recipe for Vercel as a bundle", async () => {
    const output = "vercel-bundle.mjs";
    await BUNDLERS.esbuild({
      application: app,
      source: "vercel-node.mjs",
      output,
      target: "node",
      format: "esm",
      banner: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    });
    const env = { SLUICE_URL: collector.url, SLUICE_WRITE_KEY: "key" };
    const { stdout, stderr } = await app.run("Node.js 22", output, env);
    expect([stdout.trim(), stderr]).toEqual(["5 invocations", ""]);
    expectMessages(5);
  });

  it.each(["Node.js 20", "Node.js 22"] as const)(
    "leaves what another process is sending from the spool alone until that one is killed on %s",
    async (runtime) => {
      const { stdout, stderr } = await app.run(runtime, "spool.mjs", {});
      const { before, after } = JSON.parse(stdout);
      expect([before, stderr]).toEqual([["held", "second"], ""]);
      expect(after).toEqual(["left", "third"]);
    },
  );

  it("sends with fetch and says so once if undici is not installed", async () => {
    const withoutUndici = application(["test/runtimes/programs/script.mjs"]);
    try {
      rmSync(withoutUndici.path("node_modules/undici"));
      const { stdout, stderr } = await withoutUndici.run("Node.js 22", "script.mjs", {
        SLUICE_URL: collector.url,
      });
      expect(stdout.trim()).toBe(ALL_DELIVERED);
      expect(stderr.match(/undici cannot be loaded/g)).toHaveLength(1);
      expectMessages(250);
    } finally {
      withoutUndici.remove();
    }
  });

  describe("the recipe for AWS Lambda", () => {
    const env = () => ({ SLUICE_URL: collector.url, SLUICE_WRITE_KEY: "key" });
    const invoke = (output: string) =>
      app.run("Node.js 22", "invoke-lambda.mjs", { ...env(), HANDLER: output });

    it("sends each invocation's message before its response, as an ES module without undici", async () => {
      const output = "lambda-bundle.mjs";
      await BUNDLERS.esbuild({
        application: app,
        source: "lambda.mjs",
        output,
        target: "node",
        format: "esm",
      });
      const { stdout, stderr } = await invoke(output);
      expect(stdout.trim()).toBe("5 invocations, 0 queued");
      expectMessages(5);
      expect(stderr.match(/undici cannot be loaded/g)).toHaveLength(1);
    });

    it("uses undici in an ES module with a `require`", async () => {
      const output = "lambda-with-require.mjs";
      const banner =
        "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";
      await BUNDLERS.esbuild({
        application: app,
        source: "lambda.mjs",
        output,
        target: "node",
        format: "esm",
        banner,
      });
      const { stdout, stderr } = await invoke(output);
      expect([stdout.trim(), stderr]).toEqual(["5 invocations, 0 queued", ""]);
      expectMessages(5);
    });

    it("sends each invocation's message before its response, as CommonJS", async () => {
      const output = "lambda-bundle.cjs";
      await BUNDLERS.esbuild({
        application: app,
        source: "lambda.mjs",
        output,
        target: "node",
        format: "cjs",
      });
      const { stdout, stderr } = await invoke(output);
      expect([stdout.trim(), stderr]).toEqual(["5 invocations, 0 queued", ""]);
      expectMessages(5);
    });

    it("responds after 2 s while the collector is busy, and a later invocation sends the message", async () => {
      collector.faults.add({ status: 503, retryAfter: 3 });
      const { stdout } = await invoke("lambda.mjs");
      expect(stdout.trim()).toBe("5 invocations, 0 queued");
      expectMessages(5);
    });
  });
});
