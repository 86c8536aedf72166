import { readFileSync } from "node:fs";
import { type LoopbackCollector, loopbackCollector } from "@sluice/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Application, application } from "./application.ts";
import { BUNDLERS, type Format } from "./bundlers.ts";
import { describeOnRuntimes } from "./tools.ts";
import { type RunningWorkerd, runWorkers } from "./workerd.ts";

const BUNDLES = (Object.keys(BUNDLERS) as (keyof typeof BUNDLERS)[]).flatMap((bundler) =>
  (["esm", "cjs"] as const).map((format: Format) => ({
    bundler,
    format,
    file: `worker-${bundler}.${format === "esm" ? "mjs" : "cjs"}`,
    /** Each bundle sends to a collector of its own. */
    collector: undefined as unknown as LoopbackCollector,
  })),
);
const SOURCES = [
  "test/runtimes/programs/worker.mjs",
  "test/runtimes/programs/edge-function.mjs",
  "examples/serverless/src/cloudflare.mjs",
  "test/runtimes/programs/vercel-edge.mjs",
  "examples/serverless/src/vercel.mjs",
  "test/runtimes/programs/webhook-worker.mjs",
];

/** The steps that every runtime of this kind must pass. `call` requests a path of the Worker. */
async function expectWorkerToDeliver(
  call: (path: string) => Promise<unknown>,
  collector: LoopbackCollector,
  isOutOfRequestAtStart: boolean,
): Promise<void> {
  const count = (event: string): number =>
    collector.messages.filter((message) => message.event === event).length;
  // Outside of a request, calls neither throw nor lose anything, and a flush says what it leaves.
  if (isOutOfRequestAtStart)
    expect(await call("/start")).toEqual({ delivered: 0, failed: 0, refused: 0, queued: 1 });
  await call("/flush");
  await collector.waitFor({ event: "Flushed" }, { count: 30 });
  expect(count("Started")).toBe(1);
  // The request that made this call ends without a flush: the message waits for the flush of another request.
  await call("/track");
  expect(await call("/await")).toMatchObject({ failed: 0, refused: 0, queued: 0 });
  expect(count("Left Behind")).toBe(1);
  await call("/keep");
  await collector.waitFor({ event: "Kept" });
  // An id may arrive twice, but is stored once: the collector's messages have it once.
  await expect.poll(() => call("/stats")).toMatchObject({ delivered: 33, failed: 0, refused: 0, queued: 0 });
  expect(new Set(collector.messages.map(({ messageId }) => messageId)).size).toBe(33);
  expect(await call("/compat")).toEqual({ sent: ["Segment"], calledBack: "delivered" });
  expect(await call("/options")).toEqual({ spool: "spool", signals: "flushOnSignals", undici: "transport" });
}

const caller =
  (url: string) =>
  async (path: string): Promise<unknown> =>
    (await fetch(`${url}${path}`)).json();

describeOnRuntimes("workers", () => {
  let app: Application;
  beforeAll(() => {
    app = application(SOURCES);
  });
  afterAll(() => app.remove());

  describe("on Cloudflare's workerd", () => {
    let workerd: RunningWorkerd;
    let recipe: LoopbackCollector;
    beforeAll(async () => {
      for (const bundle of BUNDLES) {
        bundle.collector = await loopbackCollector();
        await BUNDLERS[bundle.bundler]({
          application: app,
          source: "worker.mjs",
          output: bundle.file,
          target: "workerd",
          format: bundle.format,
          define: { __COLLECTOR__: bundle.collector.url },
        });
      }
      recipe = await loopbackCollector({ writeKey: "key" });
      await BUNDLERS.esbuild({
        application: app,
        source: "cloudflare.mjs",
        output: "recipe.mjs",
        target: "workerd",
        format: "esm",
      });
      workerd = await runWorkers(app.folder, [...BUNDLES, { file: "recipe.mjs", format: "esm" }], {
        SLUICE_URL: recipe.url,
        SLUICE_WRITE_KEY: "key",
      });
    });
    afterAll(async () => {
      await workerd?.close();
      for (const { collector } of BUNDLES) await collector?.close();
      await recipe?.close();
    });

    it.each(BUNDLES)(
      "delivers every message of a Worker bundled with $bundler to $format",
      async ({ file, collector }) => {
        await expectWorkerToDeliver(caller(workerd.urls.get(file) ?? ""), collector, true);
        expect(workerd.stderr()).not.toMatch(/error|uncaught/i);
      },
    );

    it("delivers the messages of the recipe after the responses, also if requests fail", async () => {
      recipe.faults.add("reset", { status: 503 }, "accept_then_reset", { status: 429, retryAfter: 1 });
      const respond = () =>
        fetch(workerd.urls.get("recipe.mjs") ?? "", {
          method: "POST",
          body: JSON.stringify({ userId: "u1", total: 5 }),
        });
      const responses = await Promise.all(Array.from({ length: 20 }, respond));
      expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(200));
      const arrived = (): number => new Set(recipe.messages.map(({ messageId }) => messageId)).size;
      await expect.poll(arrived).toBe(20);
    });
  });

  it("receive webhooks on workerd with nodejs_compat", async () => {
    const output = "webhook-worker.js";
    await BUNDLERS.esbuild({
      application: app,
      source: "webhook-worker.mjs",
      output,
      target: "workerd",
      format: "esm",
      external: ["node:*"],
    });
    const workerd = await runWorkers(
      app.folder,
      [{ file: output, format: "esm", flags: ["nodejs_compat"] }],
      {},
    );
    try {
      expect(await caller(workerd.urls.get(output) ?? "")("/")).toEqual({
        statuses: [200, 200, 401],
        received: ["m1", "m1"],
      });
    } finally {
      await workerd.close();
    }
  });

  describe("on Vercel's edge runtime", () => {
    it("delivers every message", async () => {
      await using collector = await loopbackCollector();
      await BUNDLERS.esbuild({
        application: app,
        source: "edge-function.mjs",
        output: "edge-function.js",
        target: "edge",
        format: "esm",
        define: { __COLLECTOR__: collector.url },
      });
      const { EdgeRuntime } = await import("edge-runtime");
      const runtime = new EdgeRuntime({ initialCode: readFileSync(app.path("edge-function.js"), "utf8") });
      const call = async (path: string): Promise<unknown> => {
        const response = await runtime.dispatchFetch(`http://localhost${path}`);
        const answer = await response.json();
        await response.waitUntil();
        return answer;
      };
      await expectWorkerToDeliver(call, collector, false);
    });

    it("delivers the messages of the recipe for Vercel after the responses", async () => {
      await using collector = await loopbackCollector({ writeKey: "key" });
      await BUNDLERS.esbuild({
        application: app,
        source: "vercel-edge.mjs",
        output: "vercel-edge.js",
        target: "edge",
        format: "esm",
      });
      const { EdgeRuntime } = await import("edge-runtime");
      const runtime = new EdgeRuntime({
        initialCode: readFileSync(app.path("vercel-edge.js"), "utf8"),
        // Vercel gives edge functions their environment variables.
        extend: (context) =>
          Object.assign(context, {
            process: { env: { SLUICE_URL: collector.url, SLUICE_WRITE_KEY: "key" } },
          }),
      });
      const body = JSON.stringify({ userId: "u1", total: 5 });
      const responses = await Promise.all(
        Array.from({ length: 5 }, () => runtime.dispatchFetch("http://localhost/", { method: "POST", body })),
      );
      expect(responses.map(({ status }) => status)).toEqual(Array(5).fill(200));
      for (const response of responses) await response.waitUntil();
      expect(collector.messages).toHaveLength(5);
    });
  });
});
