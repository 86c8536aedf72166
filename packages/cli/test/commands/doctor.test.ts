import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { collectorForCli } from "../support/cli.js";

let at: Awaited<ReturnType<typeof collectorForCli>>;
beforeAll(async () => {
  at = await collectorForCli();
});
afterAll(() => at[Symbol.asyncDispose]());

const json = async (args: readonly string[], expected = 0) =>
  JSON.parse((await at.sluice([...args, "--json"], expected)).out);

describe("doctor", () => {
  const results = (checks: { name: string; result: string }[]) =>
    Object.fromEntries(checks.map(({ name, result }) => [name, result]));

  it("finds no problem with a healthy collector", async () => {
    const { checks } = await json(["doctor"]);
    expect(results(checks)).toMatchObject({
      address: "ok",
      token: "ok",
      clock: "ok",
      "write key": "ok",
      disk: "ok",
      "data folder": "ok",
    });
    const disk = checks.find(({ name }: { name: string }) => name === "disk");
    expect(disk.message).toMatch(/ GB free on the collector's disk$/);
  });

  it("names refused requests and who sent them", async () => {
    const url = (await json(["doctor"])).url;
    const headers = { authorization: `Basic ${btoa("wk_mistyped_0123456789:")}`, "user-agent": "lib/1" };
    for (let n = 0; n < 19; n++) await fetch(`${url}/v1/track`, { method: "POST", headers, body: "{}" });
    const { checks } = await json(["doctor"]);
    expect(checks).toContainEqual({
      ...{ name: "refused", result: "warning" },
      message: expect.stringMatching(
        /^19 requests refused with 401 invalid_write_key in the last hour, last at/,
      ),
      hint: "19 with wk_misty… from 127.0.0.1 (lib/1)",
    });
  });

  it("finds a wrong token, a wrong key and a closed port", async () => {
    const { checks } = await json(["doctor", "--token", "wrong", "--write-key", "wrong"], 6);
    expect(results(checks)).toMatchObject({ token: "problem", "write key": "problem" });
    const closed = createServer().listen(0, "127.0.0.1");
    await once(closed, "listening");
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    const { out } = await at.sluice(["doctor", "--url", `http://127.0.0.1:${port}`], 6);
    expect(out).toContain("ECONNREFUSED");
    // Nobody can say whether this machine's disk is the one that counts.
    expect(out).toMatch(/disk .* (GB free at \S+ on|does not exist on) this machine/);
  });
});
