import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cli, collectorForCli } from "../support/cli.js";

let at: Awaited<ReturnType<typeof collectorForCli>>;
beforeAll(async () => {
  at = await collectorForCli();
});
afterAll(() => at[Symbol.asyncDispose]());

describe("the command line itself", () => {
  it("says that the collector is unreachable, and what to do", async () => {
    const running = cli(["sources", "list", "--url", "http://127.0.0.1:1", "--token", "t"]);
    expect(await running.code).toBe(3);
    expect(running.err()).toContain("Start one with `npx sluice dev`");
  });

  it("shows examples with npx", async () => {
    expect((await at.sluice(["destinations", "--help"])).out).toContain(
      "  $ npx sluice destinations test Webhooks\n",
    );
  });

  it("refuses to connect without a token", async () => {
    const running = cli(["sources", "list"], { cwd: at.directory.replace(/[^/]+$/, "") });
    expect(await running.code).toBe(4);
  });

  it("prints errors as JSON with --json", async () => {
    const running = cli(["sources", "get", "none", "--json"], { env: at.env });
    expect(await running.code).toBe(5);
    expect(JSON.parse(running.err())).toMatchObject({ error: { code: "notFound" } });
  });

  it("finds the token of sluice dev in the data folder", async () => {
    const running = cli(["sources", "list", "--url", at.url], { cwd: at.directory });
    expect(await running.code).toBe(0);
  });
});
